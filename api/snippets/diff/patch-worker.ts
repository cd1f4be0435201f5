import { answerRequests } from '../work-thread.ts'
import { patchOf } from './patch.ts'

answerRequests(patchOf)
