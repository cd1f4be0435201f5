import { utf8 } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import type { Job, JobInput } from '../job.ts'
import { makeSwipes, pairKey, type Swipe, type Swipes, swipeSchema } from './swipes.ts'
import { swipeMatches } from './topology.ts'
import { checkMatches } from './verify.ts'

/** J3: finds pairs of users who swipe each other right within 30 days. */
export const matches: Job = {
  title: 'join within a time span',
  topology: swipeMatches,
  input: (_dataDir, count) => swipesInput(makeSwipes(count)),
}

export function swipesInput(swipes: Swipes): JobInput {
  const { swiper, swipee, right, ts } = swipes
  const codec = bareAvro<Swipe>(swipeSchema)
  return {
    count: swipes.count,
    write(i, key, value) {
      utf8.encode(pairKey(swiper[i], swipee[i]), key)
      codec.encode({ swiper: swiper[i], swipee: swipee[i], right: right[i] === 1, ts: ts[i] }, value)
      return ts[i]
    },
    check: () => checkMatches(swipes),
  }
}
