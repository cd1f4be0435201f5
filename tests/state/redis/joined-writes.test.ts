import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { joinWrites } from '../../../state/redis/joined-writes.ts'

test('writes of one turn are sent together, in their order, and those of the next turn after them', async () => {
  const sent: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      sent.push(String(chunk))
      done()
    },
    writev(chunks, done) {
      sent.push(chunks.map(({ chunk }) => String(chunk)).join('+'))
      done()
    },
  })
  joinWrites(stream)
  stream.write('a')
  stream.write(Buffer.from('b'))
  expect(sent).toEqual([])
  await new Promise((turn) => setImmediate(turn))
  expect(sent).toEqual(['a+b'])
  stream.write('c')
  await new Promise((turn) => setImmediate(turn))
  expect(sent).toEqual(['a+b', 'c'])
})
