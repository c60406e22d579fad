import { useTranslation } from 'react-i18next'

/** US dollars in the reader's way of writing; below ten cents with fractions of a cent. */
export function useDollars(): (amount: number) => string {
  const { i18n } = useTranslation()
  return (amount) =>
    new Intl.NumberFormat(i18n.language, {
      style: 'currency',
      currency: 'USD',
      maximumFractionDigits: amount < 0.1 ? 4 : 2,
    }).format(amount)
}
