import { utf8 } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import type { Job, JobInput } from '../job.ts'
import { readTerms, type TermSeen, type Terms, termSeenSchema } from './terms.ts'
import { hoppingCounts } from './topology.ts'
import { checkCounts } from './verify.ts'

/**
 * J1: counts records per term in hopping windows of 5 minutes that begin every minute. Each record belongs to five
 * windows.
 */
export const windowedCounts: Job = {
  title: 'windowed counts per term',
  data: 'tweets',
  topology: hoppingCounts,
  input: (dataDir, count) => termsInput(readTerms(dataDir, count)),
}

export function termsInput(terms: Terms): JobInput {
  const { names, term, tweetId, ts } = terms
  const codec = bareAvro<TermSeen>(termSeenSchema)
  return {
    count: terms.count,
    write(i, key, value) {
      utf8.encode(names[term[i]], key)
      codec.encode({ tweet_id: tweetId[i] }, value)
      return ts[i]
    },
    check: () => checkCounts(terms),
  }
}
