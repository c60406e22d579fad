import { useTranslation } from 'react-i18next'

/**
 * Returns a function that formats US dollars for the user's language. Amounts below ten cents show fractions
 * of a cent.
 */
export function useDollars(): (amount: number) => string {
  const { i18n } = useTranslation()
  return (amount) =>
    new Intl.NumberFormat(i18n.language, {
      style: 'currency',
      currency: 'USD',
      maximumFractionDigits: amount < 0.1 ? 4 : 2,
    }).format(amount)
}
