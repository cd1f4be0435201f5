import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type CountryResponse, Reader } from 'mmdb-lib'
import { UNKNOWN } from './user-agent.ts'

/** Bundled data of the regional registries (NRO, CC BY 4.0) for IPv4 and IPv6. It takes 8 MB of memory. */
const BUNDLED = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'

/** The form in which a dual-stack socket reports IPv4 addresses. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i
const COUNTRY_CODE = /^[A-Z]{2}$/
/**
 * Codes that content delivery networks send for "no country": unknown, Tor, and user-assigned codes of ISO 3166-1.
 */
const NO_COUNTRY = new Set(['XX', 'T1', 'ZZ', 'A1', 'A2', 'AP', 'EU'])

/** A record in one of the two usual forms: that of MaxMind and DB-IP, or the flat one of the bundled database. */
type CountryRecord = Partial<CountryResponse> & { readonly country_code?: string }

/**
 * Finds the countries of visitors.
 * @param path a MaxMind DB file with countries; undefined for the bundled one
 * @returns ISO 3166-1 alpha-2, or `unknown`. The function's parameter `given` is the country that the producer names,
 * which takes precedence; `ip` may be any text.
 * @throws Error if the file cannot be read or is not a MaxMind DB
 */
export function countryReader(path: string | undefined): (given: string, ip: string) => string {
  const file = path ?? createRequire(import.meta.url).resolve(BUNDLED)
  let database: Reader<CountryResponse>
  try {
    database = new Reader<CountryResponse>(readFileSync(file))
  } catch (error) {
    throw new Error(`the country database ${file} cannot be read (${(error as Error).message}); set GEOIP_DATABASE to a MaxMind DB file`)
  }

  return function readCountry(given, ip) {
    if (given !== '') return countryOrUnknown(given.toUpperCase())
    if (ip === '') return UNKNOWN
    const record = database.get(ip.replace(MAPPED_IPV4, '')) as CountryRecord | null
    return countryOrUnknown(record?.country_code ?? record?.country?.iso_code ?? '')
  }
}

function countryOrUnknown(code: string): string {
  return COUNTRY_CODE.test(code) && !NO_COUNTRY.has(code) ? code : UNKNOWN
}
