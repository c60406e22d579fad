import { expect, it } from 'vitest'
import { sampleLog, userMessage } from '@/test/sample-log'
import { createConversationStore } from './store'

function open() {
  let frameCallbacks: (() => void)[] = []
  const store = createConversationStore('c', { schedule: (callback) => frameCallbacks.push(callback) })
  const paint = () => {
    const due = frameCallbacks
    frameCallbacks = []
    due.forEach((callback) => callback())
  }
  return { store, paint }
}

it('changes the view once per painted frame, however much arrives', () => {
  const { store, paint } = open()
  let changes = 0
  store.subscribe(() => (changes += 1))
  sampleLog().forEach((event, index) => store.receive({ type: 'durable', seq: index + 1, event }))
  expect(changes).toBe(0)
  paint()
  expect(changes).toBe(1)
  expect(store.getState().view.lastSeq).toBe(sampleLog().length)
})

it('lets go of an outgoing message when its event is in the log, however its id is written', () => {
  const { store, paint } = open()
  const id = '0c3d2f6e-8a52-4c1b-9b7e-1f2a3b4c5d6e'
  store.putOutgoing({ id, text: 'hi', state: 'sending', error: null })
  store.receive({ type: 'durable', seq: 1, event: userMessage(id.replaceAll('-', ''), 'hi') })
  paint()
  expect(store.getState().outgoing).toEqual([])
})

it('does not bring back a message whose event came before the reply to the request', () => {
  const { store, paint } = open()
  store.receive({ type: 'durable', seq: 1, event: userMessage('m1', 'hi') })
  paint()
  store.putOutgoing({ id: 'm1', text: 'hi', state: 'sent', error: null })
  expect(store.getState().outgoing).toEqual([])
})
