#compdef tfgen
# Completion of tfgen for zsh:  source <(tfgen completion zsh), after compinit; or as a file _tfgen in $fpath.

_tfgen() {
  local line
  local -a whole open
  for line in ${(f)"$($words[1] completion zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"}; do
    if [[ ${line%%$'\t'*} == *[/.=] ]]; then
      open+=(${${line%$'\t'}//$'\t'/:})
    else
      whole+=(${${line%$'\t'}//$'\t'/:})
    fi
  done
  _describe -t values value whole -- open -S ''
}

if [[ $funcstack[1] == _tfgen ]]; then
  _tfgen "$@"
else
  compdef _tfgen tfgen
fi
