import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { problem } from '@/test/handlers'
import { toolCall, toolResult } from '@/test/sample-log'

const PICTURE = 'data:image/jpeg;base64,/9j/4AAQ'
const HOME = 'URL: http://localhost:3000/\nTitle: Home'
const opened = [
  toolCall('a1', { kind: 'BrowserNavigateAction', url: 'http://localhost:3000/' }),
  toolResult('a1', 'BrowserObservation', HOME),
]
const looked = [
  toolCall('a2', { kind: 'BrowserGetStateAction', include_screenshot: true }),
  toolResult('a2', 'BrowserObservation', '', {
    content: [
      { type: 'text', text: `${HOME}\n\n[0] link "Docs"` },
      { type: 'image', image_urls: [PICTURE] },
    ],
  }),
]
const view = (title: string) =>
  HttpResponse.json({
    is_open: true,
    pages: [
      { url: 'http://localhost:3000/', title: 'Home', is_current: false },
      { url: 'http://localhost:3000/docs', title, is_current: true },
    ],
    image_url: PICTURE,
  })
const browserTab = () => screen.findByRole('tab', { name: 'Browser' }, { timeout: 10_000 })

describe('the browser of the agent', () => {
  it('has no place before the agent has used it', async () => {
    openConversation()
    expect(await screen.findByText('No changes', {}, { timeout: 10_000 })).toBeVisible()
    expect(screen.queryByRole('tab', { name: 'Browser' })).toBeNull()
  })

  it('shows address, tabs and picture as they are now', async () => {
    openConversation({ events: opened, browser: () => view('Docs') })
    await userEvent.click(await browserTab())

    expect(await screen.findByText('http://localhost:3000/docs')).toBeVisible()
    const tabs = within(screen.getByRole('list', { name: 'Open tabs' })).getAllByRole('listitem')
    expect(tabs.map((tab) => tab.textContent)).toEqual(['Home', 'Docs'])
    expect(tabs[1]).toHaveAttribute('aria-current', 'true')
    expect(screen.getByRole('img', { name: "The page in the agent's browser" })).toHaveAttribute(
      'src',
      PICTURE,
    )
  })

  it('follows the agent, and looks again when asked', async () => {
    let title = 'Docs'
    const { stream } = openConversation({ events: opened, browser: () => view(title) })
    await userEvent.click(await browserTab())
    expect((await screen.findAllByText('Docs'))[0]).toBeVisible()

    title = 'Guide'
    stream.append(toolCall('a3', { kind: 'BrowserClickAction', index: 0 }))
    stream.append(toolResult('a3', 'BrowserObservation', `${HOME}\n\nClicked link "Docs".`))
    expect((await screen.findAllByText('Guide', {}, { timeout: 4000 }))[0]).toBeVisible()

    title = 'Elsewhere'
    await userEvent.click(screen.getByRole('button', { name: 'Look again' }))
    expect((await screen.findAllByText('Elsewhere'))[0]).toBeVisible()
  })

  it('shows the last screenshot of the log when the browser is gone', async () => {
    openConversation({
      events: [...opened, ...looked],
      browser: () => problem(409, { code: 'sandbox_not_running', detail: 'It sleeps.' }),
    })
    await userEvent.click(await browserTab())

    expect(await screen.findByText(/This is what it showed last/)).toBeVisible()
    expect(screen.getByText('http://localhost:3000/', { selector: 'p' })).toBeVisible()
    expect(screen.getByRole('img', { name: "The page in the agent's browser" })).toHaveAttribute(
      'src',
      PICTURE,
    )
  })

  it('does not call a browser closed that could not be looked at', async () => {
    openConversation({
      events: opened,
      browser: () => problem(400, { code: 'browser_failed', detail: 'It did not answer.' }),
    })
    await userEvent.click(await browserTab())

    expect(await screen.findByText('It did not answer.')).toBeVisible()
    expect(screen.queryByText(/The browser is not running/)).toBeNull()
  })

  it('draws nothing that is not a picture', async () => {
    openConversation({
      events: opened,
      browser: () =>
        HttpResponse.json({ is_open: true, pages: [], image_url: 'https://elsewhere.example/spy.png' }),
    })
    await userEvent.click(await browserTab())
    expect(await screen.findByText('There is no picture of this page.')).toBeVisible()
  })

  it('says in the timeline what was done, with a picture that opens large', async () => {
    openConversation({
      events: [
        ...opened,
        ...looked,
        toolCall('a3', { kind: 'BrowserClickAction', index: 0 }),
        toolResult('a3', 'BrowserObservation', `${HOME}\n\nClicked link "Docs".`),
        toolCall('a4', { kind: 'BrowserTypeAction', index: 4, text: 'gold\n' }),
        toolCall('a5', { kind: 'BrowserStopRecordingAction' }),
      ],
    })
    const log = await timeline()
    expect(await within(log).findByRole('button', { name: /^Open http:\/\/localhost:3000\// })).toBeVisible()
    expect(within(log).getByRole('button', { name: /^Look at Home/ })).toBeVisible()
    expect(within(log).getByRole('button', { name: /^Click link "Docs"/ })).toBeVisible()
    expect(within(log).getByRole('button', { name: /^Type “gold” → \[4\]/ })).toBeVisible()
    expect(within(log).getByRole('button', { name: /^Stop the recording/ })).toBeVisible()

    await userEvent.click(within(log).getByRole('button', { name: /^Enlarge: Screenshot/ }))
    expect(await screen.findByRole('dialog', { name: 'Screenshot' })).toBeVisible()
  })
})
