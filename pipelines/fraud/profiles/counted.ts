import type { Codec } from '../../../schemas/codec.ts'
import { rawValue } from '../../engine/index.ts'

const TIME_BYTES = 6

const time: Codec<number> = {
  encode(value, out) {
    out.reserve(TIME_BYTES)
    out.length = out.buffer.writeUIntBE(value, out.length, TIME_BYTES)
  },
  decode: (buffer, start) => buffer.readUIntBE(start, TIME_BYTES),
}

/**
 * The format of the time at which a transaction was counted, epoch ms. The format is short, because the state has one
 * such time for each transaction of a day.
 */
export const countedAt = rawValue(time)
