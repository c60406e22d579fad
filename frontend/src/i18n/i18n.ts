import i18n from 'i18next'
import { initReactI18next } from 'react-i18next'
import conversation from './conversation.en.json'
import en from './en.json'

/** One dictionary in two files: the conversation page's keys (chat, changes, start) stand apart. */
void i18n.use(initReactI18next).init({
  resources: { en: { translation: { ...en, ...conversation } } },
  lng: 'en',
  fallbackLng: 'en',
  interpolation: { escapeValue: false },
  initAsync: false,
})

export { i18n }
