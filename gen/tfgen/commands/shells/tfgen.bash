# Completion of tfgen for bash, 3.2 or newer:  source <(tfgen completion bash)

_tfgen() {
  local candidate
  COMPREPLY=()
  # The line as it is written: of its words, bash takes those with = or : apart.
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <("$1" completion bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}

# A candidate brings its own space.
complete -o nospace -F _tfgen tfgen
