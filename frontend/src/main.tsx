import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createApp } from './app'
import { reloadOnceForMissingParts } from './lib/browser/reload-once'
import './styles.css'

reloadOnceForMissingParts()
const { App } = createApp()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
