import { canonicalIp } from '../canonical.ts'
import type { FieldType } from './field.ts'
import { nearestOf } from './nearest.ts'

/** The form that a literal should have. `nearest` is the valid literal that the author probably meant. */
export interface WrongForm {
  readonly expected: string
  readonly nearest?: string
}

/** Risk tiers of users and devices, from low to high. Analysts' verdicts change the tier. */
const RISK_TIERS = ['NORMAL', 'ELEVATED', 'HIGH'] as const

const COUNTRY = /^[A-Z]{2}$/
const CURRENCY = /^[A-Z]{3}$/

/**
 * Checks the form of a literal that is compared with values of a type.
 * @returns undefined if the literal can equal such a value
 */
export function wrongFormOf(value: string, type: FieldType): WrongForm | undefined {
  switch (type) {
    case 'country':
      return COUNTRY.test(value)
        ? undefined
        : { expected: "a country code of two capital letters, such as 'DE'", ...inCapitals(value, COUNTRY) }
    case 'currency':
      return CURRENCY.test(value)
        ? undefined
        : { expected: "a currency code of three capital letters, such as 'USD'", ...inCapitals(value, CURRENCY) }
    case 'tier':
      return wrongTier(value)
    case 'ip':
      return wrongAddress(value)
    default:
      return undefined
  }
}

function inCapitals(value: string, form: RegExp): { nearest?: string } {
  const capitals = value.trim().toUpperCase()
  return form.test(capitals) ? { nearest: capitals } : {}
}

function wrongTier(value: string): WrongForm | undefined {
  if (RISK_TIERS.some((tier) => tier === value)) return undefined
  const nearest = nearestOf(value, RISK_TIERS)
  return { expected: "'NORMAL', 'ELEVATED' or 'HIGH'", ...(nearest === undefined ? {} : { nearest }) }
}

function wrongAddress(value: string): WrongForm | undefined {
  const canonical = canonicalIp(value)
  if (canonical === undefined) return { expected: "an IP address, such as '192.0.2.1' (for a network, use a list of its addresses)" }
  return canonical === value ? undefined : { expected: 'the canonical form of the IP address', nearest: canonical }
}
