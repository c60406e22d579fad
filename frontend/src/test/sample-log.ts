/** Events and streams for tests. They have the format of an agent server's data. */
import type { Action, ConversationEvent, EventOf, FileCommand, Frame, Observation } from '@/events/wire/types'

const common = (id: string, source: string) => ({ id, source, timestamp: '2026-01-02T03:04:05.000000' })
const text = (value: string) => [{ type: 'text' as const, text: value }]

export function userMessage(id: string, value: string): EventOf<'MessageEvent'> {
  return { ...common(id, 'user'), kind: 'MessageEvent', llm_message: { role: 'user', content: text(value) } }
}

export function agentMessage(id: string, value: string): EventOf<'MessageEvent'> {
  return {
    ...common(id, 'agent'),
    kind: 'MessageEvent',
    llm_message: { role: 'assistant', content: text(value) },
  }
}

export function action(id: string, command: string): EventOf<'ActionEvent'> {
  return {
    ...common(id, 'agent'),
    kind: 'ActionEvent',
    tool_name: 'terminal',
    tool_call_id: `call-${id}`,
    thought: [],
    action: { kind: 'TerminalAction', command },
  }
}

export function observation(
  id: string,
  actionId: string,
  output: string,
  exitCode = 0,
): EventOf<'ObservationEvent'> {
  return {
    ...common(id, 'environment'),
    kind: 'ObservationEvent',
    tool_name: 'terminal',
    action_id: actionId,
    observation: {
      kind: 'TerminalObservation',
      command: '',
      content: text(output),
      exit_code: exitCode,
      timeout: false,
    },
  }
}

/** Makes a call of any tool. The call is open until `toolResult` with the same id follows it. */
export function toolCall(id: string, body: Action): EventOf<'ActionEvent'> {
  return { ...action(id, ''), tool_name: body.kind, action: body }
}

export function toolResult(
  actionId: string,
  kind: string,
  output: string,
  fields: Record<string, unknown> = {},
): EventOf<'ObservationEvent'> {
  const body = { kind, content: text(output), is_error: false, ...fields } as Observation
  return { ...observation(`${actionId}-result`, actionId, ''), tool_name: kind, observation: body }
}

export function fileEdited(id: string, command: FileCommand): EventOf<'ObservationEvent'> {
  return {
    ...observation(id, 'unknown', ''),
    observation: { kind: 'FileEditorObservation', command, path: '/w/a.py', content: text('') },
  }
}

export function agentError(id: string, actionId: string): EventOf<'AgentErrorEvent'> {
  return {
    ...common(id, 'agent'),
    kind: 'AgentErrorEvent',
    tool_name: 'terminal',
    tool_call_id: `call-${actionId}`,
    error: 'No such tool.',
  }
}

export function statusChange(id: string, value: string): EventOf<'ConversationStateUpdateEvent'> {
  return {
    ...common(id, 'environment'),
    kind: 'ConversationStateUpdateEvent',
    key: 'execution_status',
    value,
  }
}

/** Makes a conversation of about forty events. It contains every way in which an action can be answered. */
export function sampleLog(): ConversationEvent[] {
  const rounds = Array.from({ length: 8 }, (_, n): ConversationEvent[] => [
    action(`a${n}`, `command ${n}`),
    n % 4 === 3 ? agentError(`o${n}`, `a${n}`) : observation(`o${n}`, `a${n}`, `output ${n}`),
    agentMessage(`r${n}`, `reply ${n}`),
    ...(n % 3 === 0 ? [userMessage(`u${n}`, `and ${n}`)] : []),
  ])
  return [
    userMessage('first', 'go'),
    statusChange('begin', 'running'),
    ...rounds.flat(),
    statusChange('end', 'finished'),
  ]
}

/**
 * Returns the frames that a server sends to a reader who has all events up to `afterSeq`. Each reply of the
 * agent is streamed before its durable event.
 */
export function sampleStream(log: readonly ConversationEvent[], afterSeq: number): Frame[] {
  return [
    { type: 'sync', from_seq: afterSeq + 1, through_seq: log.length },
    ...log
      .slice(afterSeq)
      .flatMap((event, index): Frame[] => [
        ...(event.id.startsWith('r') ? reply(event.id) : []),
        { type: 'durable', seq: afterSeq + 1 + index, event },
      ]),
  ]
}

function reply(id: string): Frame[] {
  return [
    { type: 'item_started', item_id: id, attempt: 0 },
    ...['re', 'pl', 'y'].map((content, order): Frame => ({
      type: 'delta',
      item_id: id,
      attempt: 0,
      order,
      kind: 'text',
      content,
    })),
  ]
}

/** Returns a generator of numbers in [0, 1) that are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Makes the event of one step of a goal. The event contains the goal after the step. */
export function goalUpdate(id: string, fields: Record<string, unknown> = {}): ConversationEvent {
  return {
    ...common(id, 'environment'),
    kind: 'ConversationStateUpdateEvent',
    key: 'goal',
    value: {
      active: true,
      status: 'running',
      iteration: 0,
      max_iterations: 3,
      objective: 'Mend the harbour.',
      verdict: null,
      ...fields,
    },
  }
}
