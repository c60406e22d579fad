/**
 * Notifications of the browser. The user turns them on with a button. The page does not ask for the
 * permission before that.
 */
import { useSyncExternalStore } from 'react'
import { readStored, writeStored } from './local-storage'

const STORAGE_KEY = 'slipway.notifications'

/** `blocked` means that the browser refuses notifications for this page. */
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

/**
 * Asks the user for the permission, if the browser has not asked before. Only the handler of a click may call
 * this.
 */
export async function turnNotificationsOn(): Promise<void> {
  await Notification.requestPermission()
  writeStored(STORAGE_KEY, true)
  tell()
}

export function turnNotificationsOff(): void {
  writeStored(STORAGE_KEY, false)
  tell()
}

/**
 * Shows a notification if notifications are on. A later notification with the same `tag` replaces it, also if
 * it comes from another tab.
 */
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
    // On phones, browsers allow notifications from service workers only. The title and the sidebar still show
    // the news.
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
