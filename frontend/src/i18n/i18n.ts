import i18n from 'i18next'
import { initReactI18next } from 'react-i18next'
import conversation from './conversation.en.json'
import en from './en.json'

/** The dictionary has two files. One of them has the keys of the conversation page (chat, changes, start). */
void i18n.use(initReactI18next).init({
  resources: { en: { translation: { ...en, ...conversation } } },
  lng: 'en',
  fallbackLng: 'en',
  interpolation: { escapeValue: false },
  initAsync: false,
})

export { i18n }
