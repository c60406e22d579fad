import type { Skill, SkillInput } from '@/api/types'

/** A skill that the user calls by name, as in `/release 1.4`. */
export interface Command {
  /** The name with its slash. */
  trigger: string
  description: string | null
  inputs: SkillInput[]
}

/** All commands of an agent, by name. */
export function commandsOf(skills: Skill[]): Command[] {
  const commands = skills.flatMap(({ triggers, description, inputs }) =>
    triggers
      .filter((trigger) => trigger.startsWith('/'))
      .map((trigger) => ({ trigger, description, inputs })),
  )
  return commands.sort((a, b) => a.trigger.localeCompare(b.trigger))
}

/** Returns the commands that begin with this text. Returns none if the name is already complete. */
export function completionsOf(commands: Command[], text: string): Command[] {
  const typed = text.toLowerCase()
  if (!/^\/\S*$/.test(typed)) return []
  return commands.filter(({ trigger }) => trigger.toLowerCase().startsWith(typed))
}
