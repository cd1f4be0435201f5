import type { Job } from './job.ts'
import { matches } from './matches/job.ts'
import type { JobName } from './names.ts'
import { velocity } from './velocity/job.ts'
import { windowedCounts } from './windowed-counts/job.ts'

export const JOBS: Readonly<Record<JobName, Job>> = { J1: windowedCounts, J2: velocity, J3: matches }
