import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { joinWrites } from '../../../state/redis/joined-writes.ts'

test('commands that a callback and its microtasks write are sent together, in order, and before the next callback', async () => {
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
  await Promise.resolve()
  stream.write(Buffer.from('b'))
  expect(sent).toEqual([])
  let before: string[] = []
  setTimeout(() => {
    before = [...sent]
    stream.write('c')
  })
  await expect.poll(() => sent).toEqual(['a+b', 'c'])
  expect(before).toEqual(['a+b'])
})
