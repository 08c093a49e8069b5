# SPDX-License-Identifier: GPL-2.0-only
"""Completion for bash and zsh: what is fixed comes from the tables, studies and results are looked up."""

import re

from dataplane_lib.model import targets

from .tables import Topic, metric_names

_BASH = r"""# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2086,SC2207
# Completion of dataplane and its targets. Made by scripts/manual.

declare -A _dataplane_options=(
@OPTIONS@
)
# What an option or operand takes, by COMMAND:OPTION; an operand's option is empty.
declare -A _dataplane_values=(
@VALUES@
)
_dataplane_commands='@COMMANDS@'
_dataplane_metrics='@METRICS@'

# Sets $home to where studies are, for the program that $1 runs.
_dataplane_home()
{
	local program
	program=$(readlink -f -- "$(type -P -- "$1")") && home=$(dirname -- "$(dirname -- "$program")")
}

# The words of one kind, a line each.
_dataplane_words()
{
	local home='' path
	case $1 in
	words\ *) printf '%s\n' ${1#words } ;;
	metrics) printf '%s\n' $_dataplane_metrics ;;
	targets) printf '%s\n' @TARGETS@ ;;
	studies | jobs)
		_dataplane_home "$2"
		for path in "$home"/jobfiles/*/study.toml; do
			[ -e "$path" ] || continue
			path=${path%/study.toml}
			echo "${path##*/}"
		done
		[ "$1" = studies ] || for path in "$home"/jobfiles/*.fio; do
			[ ! -e "$path" ] || echo "${path##*/}"
		done
		;;
	results)
		for path in results/*/runs.jsonl.xz; do
			[ -e "$path" ] || continue
			path=${path%/*}
			echo "${path#results/}"
		done
		;;
	devices)
		for path in /sys/bus/pci/devices/*; do
			[ "$(cat "$path/vendor" 2>/dev/null)" = 0x1af4 ] || continue
			[[ $(<"$path/device") != 0x10@(01|42) ]] || echo "${path##*/}"
		done
		;;
	factors)
		for path in ${_dataplane_options[vhost-user-blk-target]} ${_dataplane_options[nbd-target]}; do
			echo "${path#--}="
		done | sort -u
		;;
	esac
}

# Offers what option $2 of command $1 takes for the word $3.
_dataplane_offer()
{
	local kind=${_dataplane_values[$1:$2]-files} lead='' last
	case $kind in
	files) COMPREPLY=($(compgen -f -- "$3")) ;;
	devices)
		# To bash a colon ends a word.
		last=${COMP_LINE:0:COMP_POINT}
		last=${last##* }
		lead=${last%"${last##*:}"}
		COMPREPLY=($(compgen -W "$(_dataplane_words devices)" -- "$last"))
		COMPREPLY=("${COMPREPLY[@]#"$lead"}")
		;;
	target)
		# Several words in one, in quotes: the last of them is completed.
		last=${3##* }
		[ "$last" = "$3" ] || lead="${3% *} "
		local IFS=$'\n'
		COMPREPLY=($(compgen -P "$lead" -W "${_dataplane_options[vhost-user-blk-target]// /$'\n'}" -- "$last"))
		;;
	*)
		COMPREPLY=($(compgen -W "$(_dataplane_words "$kind" "$4")" -- "$3"))
		case $kind in studies | jobs | results) COMPREPLY+=($(compgen -f -- "$3")) ;; esac
		[ "$kind" != factors ] || compopt -o nospace 2>/dev/null
		;;
	esac
}

_dataplane()
{
	local program=${1##*/} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command
	local given=$1
	COMPREPLY=()
	word=${word#[\'\"]}
	command=$program
	if [ "$program" = dataplane ]; then
		if [ "$COMP_CWORD" = 1 ]; then
			COMPREPLY=($(compgen -W "$_dataplane_commands --help --version" -- "$word"))
			return
		fi
		command=${COMP_WORDS[1]}
	fi
	# A value after "=" is a word of its own to bash.
	if [ "$word" = = ]; then
		word=''
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $before == -* && -n ${_dataplane_values[$command:$before]-} ]]; then
		_dataplane_offer "$command" "$before" "$word" "$given"
	elif [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "${_dataplane_options[$command]-}" -- "$word"))
	else
		_dataplane_offer "$command" '' "$word" "$given"
	fi
}
complete -o filenames -F _dataplane dataplane @TARGETS@
"""

_ZSH = r"""#compdef dataplane @TARGETS@
# SPDX-License-Identifier: GPL-2.0-only
# Completion of dataplane and its targets. Made by scripts/manual.

_dataplane_home() {
	local program=${commands[dataplane]:-$service}
	print -r -- ${${program:A}:h:h}
}

_dataplane_studies() {
	local home=$(_dataplane_home) expl
	local -a names=($home/jobfiles/*/study.toml(N:h:t))
	_wanted studies expl study compadd -a names || _files
}

_dataplane_jobs() {
	local home=$(_dataplane_home) expl
	local -a names=($home/jobfiles/*/study.toml(N:h:t) $home/jobfiles/*.fio(N:t))
	_wanted jobs expl 'job or study' compadd -a names
	_files -g '*.fio'
}

_dataplane_results() {
	local expl
	local -a names=(results/*/runs.jsonl.xz(N:h:t))
	_wanted results expl result compadd -a names
	_files -/
}

_dataplane_devices() {
	local expl
	local -a names=(/sys/bus/pci/devices/*(N:t))
	_wanted devices expl 'PCI device' compadd -a names
}

_dataplane_metrics() {
	local expl
	local -a names=(@METRICS@)
	_wanted metrics expl metric compadd -a names
}

_dataplane_factors() {
	local expl
	local -a names=(@FACTORS@)
	_wanted factors expl factor compadd -S = -a names
}

_dataplane_target() {
	local expl
	local -a names=(--${^${(@)$(print @FACTORS@)}})
	compset -P '* '
	compset -q 2>/dev/null
	_wanted options expl 'option of the target' compadd -a names
}

_dataplane() {
	case $service in
@TARGET_CASES@
	esac
	if (( CURRENT == 2 )); then
		local -a words_known=(@COMMANDS_DESCRIBED@)
		_describe command words_known
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
@COMMAND_CASES@
	esac
}

_dataplane "$@"
"""

# What an operand or a value is, by the name that the help gives it.
_KINDS = {"STUDY": "studies", "JOB": "jobs", "RESULT": "results", "METRIC": "metrics", "DEVICE": "devices"}
_BY_OPTION = {"--target": "target", "--vary": "factors", "--program": "targets"}


def bash(known):
    """The script that bash sources."""
    pages = _all(known)
    options = [f"\t[{name}]='{' '.join(_names(page))}'" for name, page in pages.items()]
    values = []
    for name, page in pages.items():
        for o in _options(page):
            for key in (o.names or [""]) if o.arg else []:
                values.append(f"\t[{name}:{key}]='{_kind(o)}'")
    return _fill(_BASH, known, OPTIONS="\n".join(options), VALUES="\n".join(values))


def zsh(known):
    """The file that zsh finds on $fpath."""
    cases = {"TARGET_CASES": {t.name: t for t in known.targets}, "COMMAND_CASES": known.commands}
    filled = {key: "\n".join(f"\t{name}) _arguments -s {' '.join(_zsh_specs(page))}; return ;;" for name, page in pages.items())
              for key, pages in cases.items()}
    described = " ".join(_quoted(f"{name}:{page.summary}") for name, page in known.commands.items())
    factors = " ".join(dict.fromkeys(n.removeprefix("--") for t in known.targets for n in _names(t)))
    return _fill(_ZSH, known, COMMANDS_DESCRIBED=described, FACTORS=factors, **filled)


def _fill(text, known, **parts):
    parts |= {"COMMANDS": " ".join(known.commands), "METRICS": " ".join(metric_names()), "TARGETS": " ".join(t.name for t in known.targets if t.name != targets.UBLK)}
    return re.sub("@([A-Z_]+)@", lambda m: parts[m[1]], text)


def _all(known):
    return known.commands | {t.name: t for t in known.targets}


def _options(page):
    return [o for o in page.options if not isinstance(o, Topic)]


def _names(page):
    return [name for o in _options(page) for name in o.names]


def _kind(o):
    """What the value of option O is, as _dataplane_words() knows it."""
    if o.choices:
        return "words " + " ".join(o.choices)
    for name in o.names:
        if name in _BY_OPTION:
            return _BY_OPTION[name]
    return _KINDS.get(re.split(r"[^A-Z]", o.arg.lstrip("["))[0], "files")


def _zsh_specs(page):
    out = []
    for o in _options(page):
        kind, told = _kind(o), re.sub(r"[\[\]:\\]", " ", o.help.split(";")[0])
        if kind.startswith("words "):
            action = "(" + kind.removeprefix("words ") + ")"
        elif kind == "targets":
            action = "(vhost-user-blk-target nbd-target)"
        else:
            action = "_files" if kind == "files" else f"_dataplane_{kind}"
        takes = re.sub(r"[:\[\]'\\ ]", "", o.arg) or "value"
        if not o.names:
            out.append(_quoted(f"*:{takes}:{action}"))
        for name in o.names:
            out.append(_quoted(f"*{name}[{told}]" + (f":{takes}:{action}" if o.arg else "")))
    return out


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
