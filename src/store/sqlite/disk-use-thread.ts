/** Measures a data folder in a separate thread, which ends afterwards. */
import { workerData } from 'node:worker_threads'
import { lowerPriority, RECORDER_NICE } from '../../kit/lower-priority.ts'
import { serveCalls } from '../../kit/thread-calls.ts'
import { measureFolder } from './disk-use.ts'

lowerPriority(RECORDER_NICE)
const { folder } = workerData as { folder: string }

export type DiskUseCalls = { measure(): ReturnType<typeof measureFolder> }

serveCalls<DiskUseCalls>({ measure: () => measureFolder(folder) })
