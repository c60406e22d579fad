/** Notifications of the browser. The user turns them on with a button; the page never asks for them unasked. */
import { useSyncExternalStore } from 'react'
import { readStored, writeStored } from './local-storage'

const STORAGE_KEY = 'slipway.notifications'

/** `blocked`: the browser refuses them for this page. */
export type NotificationState = 'unsupported' | 'blocked' | 'off' | 'on'

const listeners = new Set<() => void>()

export function notificationState(): NotificationState {
  if (typeof Notification === 'undefined') return 'unsupported'
  if (Notification.permission === 'denied') return 'blocked'
  return Notification.permission === 'granted' && readStored(STORAGE_KEY) === true ? 'on' : 'off'
}

export function useNotificationState(): NotificationState {
  return useSyncExternalStore(subscribe, notificationState)
}

/** Asks the browser's user, if that has not been done before. To be called by a click. */
export async function turnNotificationsOn(): Promise<void> {
  await Notification.requestPermission()
  writeStored(STORAGE_KEY, true)
  tell()
}

export function turnNotificationsOff(): void {
  writeStored(STORAGE_KEY, false)
  tell()
}

/** Shows one if they are on. A later one with the same `tag` takes its place, also that of another tab. */
export function notify(title: string, options: { body: string; tag: string; onClick: () => void }): void {
  if (notificationState() !== 'on') return
  try {
    const shown = new Notification(title, { body: options.body, tag: options.tag })
    shown.onclick = () => {
      window.focus()
      shown.close()
      options.onClick()
    }
  } catch {
    // Browsers on phones allow them to service workers only; the title and the sidebar still tell.
    return
  }
}

function tell() {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
