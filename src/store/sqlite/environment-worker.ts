/**
 * The writer thread: the only writer of its file in this process. It takes every command that is waiting
 * into one transaction, commits, and only then replies.
 */
import { workerData } from 'node:worker_threads'
import { serveCallGroups } from '../../kit/thread-calls.ts'
import { committer } from './environment-transactions.ts'
import { openDatabase } from './open.ts'

const database = openDatabase({ file: workerData.file, cacheBytes: workerData.cacheBytes })
const { commit } = committer(database)
serveCallGroups(commit, () => database.close())
