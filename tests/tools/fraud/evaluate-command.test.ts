import { expect, test } from 'vitest'
import declaration from '../../../tools/fraud/evaluate/evaluate.command.ts'

test.each(['2018-7-1', '2018-07-01T00:00', 'July 1, 2018', '2018-13-01'])(
  'the day %s is rejected, because it is not a valid date in the form YYYY-MM-DD',
  (day) => {
    const parse = (testFrom: string) => declaration.parse(['--train', 'a', '--test', 'b', '--test-from', testFrom])
    expect(() => parse(day)).toThrow('--test-from must be a day such as 2018-07-01')
    expect(parse('2018-07-01')).toMatchObject({ 'test-from': '2018-07-01' })
  },
)
