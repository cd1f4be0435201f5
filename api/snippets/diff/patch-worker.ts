import { answerRequests } from '../../kit/work-thread.ts'
import { patchOf } from './patch.ts'

answerRequests(patchOf)
