import { setTimeout } from 'node:timers/promises'
import { systemTimers } from '../../runtime/patient-timer.ts'
import { fraudProfiles } from '../../schemas/fraud/topics.ts'
import { FRAUD_PROFILES_VIEW } from '../../state/views/fraud/profiles.ts'
import { addressRanges } from '../kit/client-address.ts'
import { viewProbe } from '../kit/readiness.ts'
import { sharedStart } from '../kit/shared-start.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { openBacktest } from './backtest/open.ts'
import { openBlocklist } from './blocklist/in-force.ts'
import { blocklistPart } from './blocklist/part.ts'
import { patientTimers } from './busy.ts'
import { casesPart } from './cases/part.ts'
import { deskPart } from './desk/part.ts'
import { fraudErrors } from './errors.ts'
import { openPersonalHashes } from './hash-key.ts'
import { openIpFacts } from './ip/ip-facts.ts'
import { listsPart } from './lists/part.ts'
import { modelAssignments } from './models/assignment.ts'
import { openModels } from './models/open.ts'
import { modelsPart } from './models/part.ts'
import type { FraudPart } from './part.ts'
import { entityProfiles } from './profiles/entity-profiles.ts'
import { profilesPart } from './profiles/part.ts'
import { openRuleStats } from './rule-stats/open.ts'
import { shadowMover } from './rules/move-to-shadow.ts'
import { rulesPart } from './rules/part.ts'
import { keptAnswers } from './score/kept-answers.ts'
import { scoreMeasures } from './score/measures.ts'
import { scorePart } from './score/part.ts'
import { rehearsal } from './score/rehearsal.ts'
import { rehearsePayment } from './score/rehearse-payment.ts'
import { scoreLog } from './score/score-log.ts'
import { scorer } from './score/scorer.ts'
import { stageTimes } from './score/stages.ts'
import { warmUp } from './score/warm-up.ts'
import type { FraudSettings } from './settings.ts'
import { settingsCommands } from './settings-commands.ts'
import { openSettingsInForce } from './settings-in-force.ts'
import { snoozesPart } from './snoozes/part.ts'
import { transactionFinder } from './transactions/find-transaction.ts'
import { transactionsPart } from './transactions/part.ts'

export interface FraudDeps extends ServiceKit, FraudSettings {}

/** Creates the handlers of fraud scoring: docs/services/fraud.md */
export async function fraudHandlers(deps: FraudDeps): Promise<OpenService> {
  const { facts, log, metrics, now, scripts, tables, views } = deps
  const hashes = openPersonalHashes(deps, deps.surroundings)
  const ipFactsOf = openIpFacts(deps.ipSources)
  const measures = scoreMeasures(metrics.registry, log)
  const [settings, blocklist] = await Promise.all([openSettingsInForce(deps), openBlocklist(deps)])
  const changeSettings = settingsCommands(deps.commands, settings)
  const models = openModels({ settings, modelsDir: deps.modelsDir, log, registry: metrics.registry })
  const inForce = [settings, blocklist, models]

  const partitionOf = (entity: string) => facts.partitionOf(fraudProfiles, entity)
  const profiles = entityProfiles({ scripts, partitionOf, onFailure: measures.onProfilesAway, now })
  const answers = keptAnswers({ scripts, keptMs: deps.answersKeptMs, onFailure: measures.onAnswersAway })
  const transactions = transactionFinder({ answers, tables })

  const ruleStats = openRuleStats({ ...deps, settings, moveToShadow: deps.guardActs ? shadowMover(changeSettings) : undefined })

  function openScoring(): FraudPart {
    const setTimer = patientTimers(systemTimers)
    const scoring = { ...deps, ...measures, setTimer, ipFactsOf, observe: stageTimes(metrics.registry), observer: ruleStats.observer }
    const score = scorer({ ...scoring, settings, blocklist, models, profiles, answers, log: scoreLog(scoring) })
    const rehearsed = rehearsal({ ...scoring, settings, blocklist, rehearse: models.rehearse, partitionOf })
    const { probe, close } = warmUp({
      ...scoring,
      sleep: setTimeout,
      rehearse: () => rehearsePayment({ ...scoring, score: rehearsed, hashes }),
    })
    const started = sharedStart({ setTimer: systemTimers.setTimer, monotonic: deps.monotonic })
    const part = scorePart({ ...scoring, score, hashes, started, gateways: deps.gateways && addressRanges(deps.gateways) })
    return { ...part, probes: [probe], close }
  }

  const parts: readonly FraudPart[] = [
    openScoring(),
    transactionsPart(transactions),
    profilesPart({ profiles, ipFactsOf, now }),
    blocklistPart({ ...deps, blocklist, hashes }),
    rulesPart({ ...deps, settings, changeSettings }),
    snoozesPart({ settings, changeSettings, hashes, now }),
    listsPart({ settings, changeSettings }),
    modelsPart({ ...deps, models, settings, assignments: modelAssignments(changeSettings) }),
    casesPart({ ...deps, pause: setTimeout, transactions }),
    deskPart(deps),
    openBacktest({ ...deps, settings }),
    ruleStats,
  ]
  return {
    name: 'fraud',
    description: 'Scores payments, and manages rules, the blocklist and the cases that analysts work on.',
    isUserId: () => true,
    worksWithout: ['redis'],
    errors: Object.values(fraudErrors),
    probes: [
      // The view is optional for readiness, because scoring continues without profiles.
      { ...viewProbe(views, facts, FRAUD_PROFILES_VIEW, fraudProfiles), optional: true },
      ...inForce.flatMap(({ probes }) => probes),
      ...parts.flatMap(({ probes = [] }) => probes),
      deps.commands.probe,
    ],
    routes: parts.flatMap(({ routes }) => routes),
    async close() {
      await Promise.all(parts.map((part) => part.close?.()))
      await Promise.all(inForce.map((one) => one.close()))
    },
  }
}
