import { expect, test } from 'vitest'
import { openCountryDatabase } from '../../runtime/country-database.ts'

const countryOf = openCountryDatabase(undefined)

test.each(['8.8.8.8', '::ffff:8.8.8.8', '2001:4860:4860::8888'])('the country of the address %s is US', (ip) => {
  expect(countryOf(ip)).toBe('US')
})

test.each(['', 'abc', '1.2.3', '1.2.3.4.5', '999.1.1.1', ':::', '2001:4860::4860::8888', '8.8.8.8, 1.1.1.1', '8.8.8.8\n'])(
  'the text %j is not an address, so it has no country',
  (text) => {
    expect(countryOf(text)).toBeUndefined()
  },
)
