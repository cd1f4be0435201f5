import { expect, test } from 'vitest'
import { browserRefusal } from '../../runtime/browser-guard.ts'

test.each([[{ host: '127.0.0.1:8123' }], [{ host: 'localhost' }], [{ host: 'LOCALHOST:8081' }], [{ host: '[::1]:8123' }], [{}]])(
  'the server accepts a request from a program that sends %j',
  (headers) => {
    expect(browserRefusal(headers)).toBeUndefined()
  },
)

test.each([
  [{ host: '127.0.0.1:8123', origin: 'https://evil.example' }, 'Origin'],
  [{ host: '127.0.0.1:8123', origin: 'null' }, 'Origin'],
  [{ host: '127.0.0.1:8123', origin: 'http://127.0.0.1:8123' }, 'Origin'],
  [{ host: '127.0.0.1:8123', 'sec-fetch-site': 'cross-site' }, 'Sec-Fetch-Site'],
  [{ host: '127.0.0.1:8123', 'sec-fetch-site': 'same-origin' }, 'Sec-Fetch-Site'],
  [{ host: 'rebound.example:8123' }, 'Host'],
  [{ host: 'localhost.evil.example' }, 'Host'],
  [{ host: '127.0.0.1.evil.example:8123' }, 'Host'],
])('the server refuses a page that sends %j', (headers, name) => {
  expect(browserRefusal(headers)).toContain(name)
})

test('a server may have additional names, and may allow users to open its addresses directly', () => {
  const options = { names: ['Worker-1.example'], mayBeOpened: true }
  expect(browserRefusal({ host: 'worker-1.example:9400', 'sec-fetch-site': 'none' }, options)).toBeUndefined()
  expect(browserRefusal({ host: 'worker-1.example', 'sec-fetch-site': 'none' })).toContain('Sec-Fetch-Site')
  expect(browserRefusal({ host: 'worker-1.example' })).toContain('Host')
  expect(browserRefusal({ host: 'worker-2.example' }, options)).toContain('Host')
  expect(browserRefusal({ host: 'localhost', 'sec-fetch-site': 'cross-site' }, options)).toContain('Sec-Fetch-Site')
})
