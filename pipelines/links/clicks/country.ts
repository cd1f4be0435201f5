import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type CountryResponse, Reader } from 'mmdb-lib'
import { UNKNOWN } from './user-agent.ts'

/** Registries' data (NRO, CC BY 4.0), 8 MB in memory, IPv4 and IPv6. */
const BUNDLED = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'

/** A dual-stack socket shows IPv4 visitors so. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i
const COUNTRY_CODE = /^[A-Z]{2}$/
/** What content delivery networks send for "no country": unknown, Tor, and the codes that ISO 3166-1 leaves to users. */
const NO_COUNTRY = new Set(['XX', 'T1', 'ZZ', 'A1', 'A2', 'AP', 'EU'])

/** A record of the two usual shapes: MaxMind's and DB-IP's, and the flat one of the bundled database. */
type CountryRecord = Partial<CountryResponse> & { readonly country_code?: string }

/**
 * Countries of visitors.
 * @param path a MaxMind DB file with countries; undefined: the bundled one
 * @returns ISO 3166-1 alpha-2, or `unknown`. `given` is what the producer knew, and wins; `ip` may be anything.
 * @throws Error when the file cannot be read or is no MaxMind DB
 */
export function countryReader(path: string | undefined): (given: string, ip: string) => string {
  const file = path ?? createRequire(import.meta.url).resolve(BUNDLED)
  let database: Reader<CountryResponse>
  try {
    database = new Reader<CountryResponse>(readFileSync(file))
  } catch (error) {
    throw new Error(`the country database ${file} cannot be read (${(error as Error).message}): give a MaxMind DB file with GEOIP_DATABASE`)
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
