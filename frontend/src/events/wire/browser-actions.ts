/** What the agent asks of its browser. `index`: an element by its number in the latest state. */
export interface BrowserActionByKind {
  BrowserNavigateAction: { kind: 'BrowserNavigateAction'; url: string; new_tab?: boolean }
  BrowserClickAction: { kind: 'BrowserClickAction'; index: number; new_tab?: boolean }
  BrowserTypeAction: { kind: 'BrowserTypeAction'; index: number; text: string }
  BrowserGetStateAction: { kind: 'BrowserGetStateAction'; include_screenshot?: boolean }
  BrowserGetContentAction: {
    kind: 'BrowserGetContentAction'
    extract_links?: boolean
    start_from_char?: number
  }
  BrowserScrollAction: { kind: 'BrowserScrollAction'; direction?: 'up' | 'down' }
  BrowserGoBackAction: { kind: 'BrowserGoBackAction' }
  BrowserListTabsAction: { kind: 'BrowserListTabsAction' }
  BrowserSwitchTabAction: { kind: 'BrowserSwitchTabAction'; tab_id: string }
  BrowserCloseTabAction: { kind: 'BrowserCloseTabAction'; tab_id: string }
  BrowserGetStorageAction: { kind: 'BrowserGetStorageAction' }
  BrowserSetStorageAction: { kind: 'BrowserSetStorageAction'; storage_state: Record<string, unknown> }
  BrowserStartRecordingAction: { kind: 'BrowserStartRecordingAction' }
  BrowserStopRecordingAction: { kind: 'BrowserStopRecordingAction' }
}
