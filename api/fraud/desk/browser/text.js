// @ts-check

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const PERCENT = 100
const LOCAL_TIME_CHARACTERS = 16
const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Small numbers, such as rates of fraud, get more decimals, so that they do not look like zero. */
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2, maximumSignificantDigits: 3, roundingPriority: 'morePrecision' })
const COUNT = new Intl.NumberFormat('en')
const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/**
 * @param {number} amount
 * @param {string} currency
 */
export function money(amount, currency) {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' }).format(amount)
  } catch {
    return `${amount} ${currency}`
  }
}

/** @param {number} value */
export const number = (value) => NUMBER.format(value)
/** @param {number} value */
export const count = (value) => COUNT.format(value)
/** @param {number | null | undefined} share */
export const percent = (share) => (share === null || share === undefined ? '–' : `${NUMBER.format(share * PERCENT)} %`)
/** @param {string | number} time */
export const dateTime = (time) => TIME.format(new Date(time))

/**
 * Converts a constant of the API to words.
 * @param {string} name such as `CONFIRMED_FRAUD`
 */
export function words(name) {
  return name.replaceAll('_', ' ').toLowerCase()
}

/** @param {string} text */
export const capitalised = (text) => text.slice(0, 1).toUpperCase() + text.slice(1)

/**
 * @param {number} ms a duration
 */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(ms / MINUTE_MS)
  if (minutes < 60) return `${minutes} min`
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`
  return `${Math.round(ms / DAY_MS)} days`
}

/**
 * @param {string | number} time
 * @param {number} [now]
 */
export function ago(time, now = Date.now()) {
  return `${duration(now - new Date(time).getTime())} ago`
}

/**
 * Converts any value from the API to readable text.
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  if (value === null || value === undefined || value === '') return 'missing'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return number(value)
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(shown).join(', ')
  if (typeof value === 'string' && ISO_TIME.test(value)) return dateTime(value)
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${name} ${shown(one)}`)
      .join(', ')
  return String(value)
}

/**
 * Converts a time to the value of a `datetime-local` field.
 * @param {Date} time
 */
export function localTime(time) {
  return new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, LOCAL_TIME_CHARACTERS)
}
