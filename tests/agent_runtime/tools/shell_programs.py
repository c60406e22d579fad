"""Makes random bash programs that are valid and quick. Their output does not depend on the time or the
directory.
"""

import random

_WORDS = [
    "apple",
    "two words",
    "ünï",
    "a*b",
    "$HOME",
    "back\\slash",
    "it's",
    "",
    " lead",
    'say "hi"',
    "!x",
    "#no",
]


class Programs:
    """Makes random bash programs. The same seed gives the same programs."""

    def __init__(self, seed: int) -> None:
        self._choose = random.Random(seed)  # noqa: S311
        self._names = 0

    def program(self) -> str:
        statements = [self._statement(depth=3) for _ in range(self._choose.randint(1, 5))]
        if self._choose.random() < 0.3:
            statements.append(
                self._choose.choice(["exit 7", "false", "(exit 3)", "return 4", "exec true", "! true"])
            )
        return self._choose.choice(["\n", "\n", "\n\n# comment\n"]).join(statements)

    def _statement(self, depth: int) -> str:
        simple = [
            self._echo,
            self._printf,
            self._pipe,
            self._change_directory,
            self._here,
            self._variable,
            self._file,
        ]
        compound = [self._for, self._while, self._if, self._case, self._subshell, self._function, self._chain]
        make = self._choose.choice(simple if depth == 0 else simple + compound)
        return make(depth - 1)

    def _body(self, depth: int) -> str:
        count = self._choose.randint(1, 2)
        return "\n".join(self._statement(max(depth, 0)) for _ in range(count))

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _quoted(self) -> str:
        word = self._choose.choice(_WORDS)
        single = "'" + word.replace("'", "'\\''") + "'"
        double = '"' + "".join(f"\\{c}" if c in '"\\$`' else c for c in word) + '"'
        return self._choose.choice(
            [single, double, f"$'{word.translate({39: chr(92) + chr(39), 92: chr(92) * 2})}'"]
        )

    def _echo(self, _: int) -> str:
        return f"echo {' '.join(self._quoted() for _ in range(self._choose.randint(1, 3)))}"

    def _printf(self, _: int) -> str:
        return self._choose.choice(
            [
                f"printf '%s|' {self._quoted()} {self._quoted()}",
                "printf '%03d\\n' 7 42",
                "printf 'a\\tb\\n'",
                "printf 'no newline'",
                "printf '\\n\\n'",
            ]
        )

    def _pipe(self, _: int) -> str:
        source = self._choose.choice(["seq 1 20", "printf '%s\\n' b a c a", "echo one two three"])
        line_by_line = 'while read -r line; do echo "<$line>"; done'
        words = ["sort -u", "sort -r", "tr a-z A-Z", "head -n 3", "tail -n 2", "sed 's/1/x/g'", "wc -l"]
        filters = [*words, "grep -c 1", "cat -n", "awk '{print NF}'", line_by_line]
        return " | ".join([source, *self._choose.sample(filters, self._choose.randint(1, 3))])

    def _change_directory(self, _: int) -> str:
        return self._choose.choice(
            [
                "mkdir -p 'sub dir' && cd 'sub dir'",
                "cd ..  && cd - > /dev/null",
                "cd .",
                "mkdir -p d && cd d",
                "pwd -P | wc -l",
            ]
        )

    def _here(self, _: int) -> str:
        word = self._choose.choice(["EOF", "'EOF'", "END_OF_IT"])
        end = word.strip("'")
        text = self._choose.choice(["plain $((1 + 2)) `echo sub`", "tab\there", "", 'it\'s "quoted" \\ back'])
        return self._choose.choice([f"cat <<{word}\n{text}\nsecond\n{end}", 'cat <<< "here $((2 * 3))"',
                                    "tr a-z A-Z <<-X\n\tindented\n\tX"])  # fmt: skip

    def _variable(self, _: int) -> str:
        name = self._name()
        return self._choose.choice(
            [
                f'{name}={self._quoted()}; echo "${{{name}}}" ${{#{name}}}',
                f'{name}=(x \'y z\' w); echo "${{{name}[1]}}" ${{#{name}[@]}} "${{{name}[@]: -1}}"',
                f'{name}=$(echo inner; echo lines); echo "${name}"',
                f"{name}=5; (({name} += 3)); echo $(({name} * 2)) ${{{name}:-unset}}",
                f"declare -A {name}=([k]=1); echo ${{{name}[k]}}",
                f"{name}=path/to/file.txt; echo ${{{name}##*/}} ${{{name}%.*}} ${{{name}^^}}",
            ]
        )

    def _file(self, _: int) -> str:
        name = self._name()
        return (
            f"echo {self._quoted()} > {name}.txt; cat {name}.txt; echo more >> {name}.txt; wc -l < {name}.txt"
        )

    def _for(self, depth: int) -> str:
        words = self._choose.choice(["1 2 3", "{a..c}", "$(seq 2)", "'x y' z"])
        name = self._name()
        ending = self._choose.choice(
            ["", f"; [[ ${name} == 2 ]] && continue", f"; [[ ${name} == b ]] && break"]
        )
        return f'for {name} in {words}; do\n{self._body(depth)}\necho "${name}"{ending}\ndone'

    def _while(self, depth: int) -> str:
        name = self._name()
        return f"{name}=0; while (({name} < 3)); do\n{name}=$(({name} + 1))\n{self._body(depth)}\ndone"

    def _if(self, depth: int) -> str:
        test = self._choose.choice(
            ["[ -d . ]", "[[ abc == a* ]]", "false", "test 1 -gt 2", "grep -q x <<< xyz"]
        )
        return f"if {test}; then\n{self._body(depth)}\nelse\n{self._body(depth)}\nfi"

    def _case(self, depth: int) -> str:
        word = self._choose.choice(["abc", "b", "''"])
        return (
            f"case {word} in\na*) {self._echo(depth)} ;;\nb) {self._body(depth)}\n;;\n*) echo other;;\nesac"
        )

    def _subshell(self, depth: int) -> str:
        opening, closing = self._choose.choice([("(", ")"), ("{ ", "\n}"), ("x=$(", '); echo "$x"')])
        return f"{opening}\n{self._body(depth)}\n{closing}"

    def _function(self, depth: int) -> str:
        name = self._name()
        code = self._choose.choice(["", "return 3", "return 0"])
        body = f'local inner=$1\n{self._body(depth)}\necho "$inner" $#'
        return f"{name}() {{ {body}\n{code}\n}}\n{name} {self._quoted()} 2"

    def _chain(self, depth: int) -> str:
        first = self._choose.choice(["true", "false", "(exit 3)", "sh -c 'exit 9'", "test -e nowhere"])
        joint = self._choose.choice(["&&", "||", ";"])
        return f"{first} {joint} {{ {self._body(depth)}\n}}"
