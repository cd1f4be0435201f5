import { expect, test } from 'vitest'
import { withoutPassword } from '../../settings/without-password.ts'

test.each([
  ['rediss://user:secret@cache:6380/0', 'rediss://…@cache:6380/0'],
  ['http://a:first@one:8081,http://b:second@two:8081', 'http://…@one:8081,http://…@two:8081'],
  ['https://user:se@cret@search:9200', 'https://…@search:9200'],
  ['http://search:9200/path@2', 'http://search:9200/path@2'],
  ['a:9092,b:9092', 'a:9092,b:9092'],
])('the address %s is shown as %s', (address, shown) => {
  expect(withoutPassword(address)).toBe(shown)
})
