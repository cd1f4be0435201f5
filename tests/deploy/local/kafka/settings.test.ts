import { expect, test } from 'vitest'
import { brokerProperties } from '../../../../deploy/local/kafka/settings.ts'

test('special characters in the path of the data folder are escaped in the settings of the broker', () => {
  const text = brokerProperties('/home/josé/a b\\c', { client: 1, controller: 2 })
  expect(text).toContain('\nlog.dirs=/home/jos\\u00e9/a b\\u005cc/logs\n')
})
