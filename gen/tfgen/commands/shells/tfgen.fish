# Completion of tfgen for fish:  tfgen completion fish | source

function __tfgen_candidates
    # The words as they are meant, and the last as it is written.
    set --local words (commandline --tokenize --cut-at-cursor --current-process)
    set --local word (commandline --current-token --cut-at-cursor)
    $words[1] completion fish -- $words "$word" 2>/dev/null
end

complete --command tfgen --no-files --arguments '(__tfgen_candidates)'
