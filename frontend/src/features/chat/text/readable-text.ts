/**
 * Changes a tool's text, which is written for the model, into text for people. It removes instructions to the
 * model. Pure.
 */
import type { TFunction } from 'i18next'

/**
 * `output` is the output of a command: only our own notice in it is changed. `answer` is the answer of any
 * tool. `error` is the reason of a failure.
 */
export type TextKind = 'output' | 'answer' | 'error'

interface Notice {
  pattern: RegExp
  toText: (t: TFunction, ...groups: string[]) => string
}

const LEFT_OUT: Notice = {
  pattern: /\[… ([\d,]+) characters left out here(?:;[^\n]*?)? …\]/g,
  toText: (t, count = '') => t('told.left_out', { characters: count }),
}

const BUSY: Notice = {
  pattern: /\nWait for it with an empty command, answer it with is_input=true[^\n]*$/g,
  toText: () => '',
}

const NOTICES: readonly Notice[] = [
  LEFT_OUT,
  {
    pattern: /^\/[^\n]*, lines (\d+)-(\d+) of (\d+):\n/g,
    toText: (t, first = '', last = '', total = '') =>
      first === '1' && last === total ? '' : `${t('told.lines', { first, last, total })}\n`,
  },
  { pattern: /\n<response clipped> Ask for view_range [^\n]*$/g, toText: () => '' },
  {
    pattern: /<response clipped> (\d+) more entries; [^\n]*/g,
    toText: (t, count = '') => t('told.more_entries', { count: Number(count) }),
  },
  {
    pattern: /<response clipped> (\d+) more cells\./g,
    toText: (t, count = '') => t('told.more_cells', { count: Number(count) }),
  },
  { pattern: / The commands that edit work on the JSON text of the notebook, [^\n]*/g, toText: () => '' },
  {
    pattern: /^\[Lines (\d+)-(\d+) of (\d+) of [^\n]*\]\n/g,
    toText: (t, first = '', last = '', total = '') => `${t('told.lines', { first, last, total })}\n`,
  },
  {
    pattern: /\[Only the (?:first )?(\d+)(?: newest)? are shown[.:][^\]\n]*\]/g,
    toText: (t, count = '') => t('told.only', { count: Number(count) }),
  },
  {
    pattern: /\[Characters (\d+) to (\d+) of (\d+): go on with [^\]\n]*\]$/g,
    toText: (t, first = '', last = '', total = '') => t('told.characters', { first, last, total }),
  },
  { pattern: /^\[The cell has printed nothing\.\]$/g, toText: (t) => t('tool.no_output') },
  { pattern: /\n*\[Files it mentions lie in [^\n]+\]$/g, toText: () => '' },
  // These notices follow the report of a sub-agent. They state its cost, and what happened to its changes.
  {
    pattern: /^TO DO: its changes conflict with yours in (.+?)\. Nothing in your working directory [^\n]*$/gm,
    toText: (t, files = '') => t('told.conflict', { files }),
  },
  { pattern: /\[[\w-]+: (?:not )?done by [^\]\n]*\][ \n]+/g, toText: () => '' },
  { pattern: /\n*\[[\w-]+: (?:not )?done by [^\]\n]*\]$/g, toText: () => '' },
  { pattern: /^Merged into your working directory/gm, toText: (t) => t('told.merged') },
  {
    pattern: /^Its changes could not be brought into your working directory/gm,
    toText: (t) => t('told.not_merged'),
  },
  { pattern: /\bIt worked with your model: /g, toText: (t) => t('told.own_model') },
  {
    pattern: /^Nothing has changed since you made this very call before: [^\n]*$/g,
    toText: (t) => t('told.unchanged'),
  },
  { pattern: /<(system|system[-_]reminder|reminder)>[\s\S]*?<\/\1>\n?/g, toText: () => '' },
]

/** Errors that tell the model about its own mistakes. */
const MODEL_ERRORS: readonly Notice[] = [
  {
    pattern:
      /^Your reply was cut off at the limit of its length, within the arguments of `([^`\n]+)`; [^\n]*$/g,
    toText: (t, tool = '') => t('told.reply_cut', { tool }),
  },
  {
    pattern: /^Not run: you were told to stop and to ask the user\.$/g,
    toText: (t) => t('told.told_to_ask'),
  },
  {
    pattern: /^Only the plan can be changed while you plan: /g,
    toText: (t) => t('told.only_plan'),
  },
]

const INSTRUCTION_SENTENCE =
  /^(?:(?:Use|View|Call|Give|Send|Do not|Check|Ask|Say|Try|Wait|Read|Close|Think|Write|Run|Pass|Add|Choose|Begin|Go on|Narrow|Copy|Delete|Update|Look|Create|Start)\b(?! (?:of|is|was|has)\b)|To press it,|Available:|It will not change by itself)/
const INSTRUCTION_CLAUSE =
  /[:;,] (?:use|call|view|read|give|add|mind|send|create|begin|update|say|choose|try|list|pass)\b[^.\n]*(?=\.|$)/g

/** Returns the text for people. Returns the text unchanged if nothing in it is meant for the model alone. */
export function readableText(t: TFunction, text: string, kind: TextKind): string {
  if (kind === 'output') return applied(t, [LEFT_OUT, BUSY], text)
  const cleaned = applied(t, NOTICES, text)
  if (kind === 'answer') return cleaned
  return withoutInstructions(named(t, applied(t, MODEL_ERRORS, cleaned))) || t('told.failed')
}

function applied(t: TFunction, notices: readonly Notice[], text: string): string {
  return notices.reduce(
    (before, { pattern, toText }) =>
      before.replace(pattern, (_, ...found: unknown[]) =>
        toText(t, ...found.filter((each): each is string => typeof each === 'string').slice(0, -1)),
      ),
    text,
  )
}

const PARAMETERS = { old_str: 'told.old_text', new_str: 'told.new_text', view_range: 'told.range' } as const

/** Replaces the names of our own tools' parameters by words for people. */
function named(t: TFunction, text: string): string {
  return text.replace(/`(old_str|new_str|view_range)`/g, (_, name: keyof typeof PARAMETERS, at: number) => {
    const words = t(PARAMETERS[name])
    const beginsSentence = at === 0 || /[.!?]\s$/.test(text.slice(0, at))
    return beginsSentence ? words.charAt(0).toUpperCase() + words.slice(1) : words
  })
}

/**
 * Removes instructions line by line. Lines with line numbers are kept, because they may quote a file after an
 * error.
 */
function withoutInstructions(text: string): string {
  return text
    .split('\n')
    .map((line) => (/^\s*\d+\t/.test(line) ? line : withoutInstructionsInLine(line)))
    .join('\n')
    .trim()
}

function withoutInstructionsInLine(line: string): string {
  const sentences = line.split(/(?<=[.!?])\s+(?=[A-Z`"])/)
  const kept = sentences.filter((each) => !INSTRUCTION_SENTENCE.test(each))
  return (kept.length < sentences.length ? kept.join(' ') : line).replace(INSTRUCTION_CLAUSE, '')
}
