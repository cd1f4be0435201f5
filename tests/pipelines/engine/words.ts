import { topology } from '../../../pipelines/engine/topology/topology.ts'
import type { TopologyOptions } from '../../../pipelines/engine/topology/topology-options.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { CodecError } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'

/** Encodes integers as decimal text. The text is easy to read in a dump, and tests can easily make it invalid. */
const numberCodec: Codec<number> = {
  encode: (value, out) => utf8.encode(String(value), out),
  decode(buffer, start, end) {
    const text = utf8.decode(buffer, start, end)
    if (!/^-?\d+$/.test(text)) throw new CodecError(`${text} is not a number`)
    return Number(text)
  },
}

export const numberFormat = rawValue(numberCodec)
const textFormat = rawValue(utf8)

export function textTopic(name: string, partitions = 2): Topic<string, string> {
  return { name, key: utf8, value: textFormat, partitions }
}

export function numberTopic(name: string, partitions = 2): Topic<string, number> {
  return { name, key: utf8, value: numberFormat, partitions }
}

export const lines = textTopic('lines')
export const wordCounts = numberTopic('word-counts')

/**
 * Creates a topology with two stages: the first stage splits lines, which are keyed by author, into words, and the
 * second stage, which is keyed by word, counts each word.
 * @param onLine called with each line before the line is split
 * @param between name of the repartition topic between the stages
 */
export function wordCount(
  name = 'words',
  topics = { lines, wordCounts },
  options: TopologyOptions = {},
  onLine = (_line: string) => {},
  between = 'by-word',
) {
  return topology(
    name,
    (t) => {
      const words = t.repartition(between, { key: utf8, value: numberFormat, partitions: 3 })
      t.source(topics.lines).process('split', { emits: [words] }, function split(line, ctx) {
        onLine(line)
        for (const word of line.split(' ')) ctx.emit(words, word, 1)
      })
      const totals = keyedStore('totals', { key: utf8, value: numberFormat })
      t.source(words).process(
        'count',
        { reads: (_, key) => totals.prefetch(key ?? ''), stores: [totals], emits: [topics.wordCounts] },
        function count(by, ctx) {
          const word = ctx.key ?? ''
          const total = (totals.get(word) ?? 0) + by
          totals.put(word, total)
          ctx.emit(topics.wordCounts, word, total)
        },
      )
    },
    options,
  )
}
