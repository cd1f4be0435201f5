import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { assertJsonType, parseJsonBody } from '../../kit/body.ts'
import type { AddressRanges } from '../../kit/client-address.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { FraudPart } from '../part.ts'
import { answerOf } from './answer.ts'
import type { ScoreAnswer } from './model.ts'
import { readRequest } from './read-request.ts'
import { scoreRoute } from './routes.ts'
import type { Scorer } from './scorer.ts'
import type { ObserveStage } from './stages.ts'

export interface ScorePartDeps {
  readonly score: Scorer
  readonly hashes: PersonalHashes
  /** Addresses of gateways that may call without a token or certificate. */
  readonly gateways: AddressRanges | undefined
  readonly observe: ObserveStage
  /** Called when the body of a payment has arrived. Resolves when scoring may start: see `sharedStart`. */
  started(): Promise<void>
  /** Called with every answer. */
  onAnswer(answer: ScoreAnswer, isRepeat: boolean): void
  /** Epoch ms. */
  now(): number
  monotonic(): number
}

/** Creates the route that scores transactions. */
export function scorePart({ score, hashes, gateways, observe, started, onAnswer, now, monotonic }: ScorePartDeps): FraudPart {
  return {
    routes: [
      bind(
        scoreRoute,
        async ({ arriving, requestId, elapsedMs }) => {
          assertJsonType(arriving!.contentType ?? null)
          const bytes = await arriving!.whole()
          await started()
          const start = monotonic()
          const request = readRequest(parseJsonBody(bytes), hashes, now())
          observe('validation', monotonic() - start)
          const { scored, isRepeat } = await score(request, requestId)
          const answer = answerOf(scored)
          onAnswer(answer, isRepeat)
          observe('total', elapsedMs())
          return jsonAnswer(200, answer, PRIVATE)
        },
        { gateways },
      ),
    ],
  }
}
