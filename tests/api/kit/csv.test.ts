import { expect, test } from 'vitest'
import { csvLine } from '../../../api/kit/csv.ts'

test('cells are quoted only where necessary', () => {
  expect(csvLine(['a', 'b,c', 'say "x"', 'two\nlines', ''])).toBe('a,"b,c","say ""x""","two\nlines",\r\n')
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=HYPERLINK("http://x","y")'])('%j is not interpreted as a formula', (cell) => {
  const [first, second] = csvLine([cell])
  expect(first === '"' ? second : first).toBe("'")
})
