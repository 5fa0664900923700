/** The data folder and other files of the service. */
import { accessSync, constants, globSync, lstatSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DAY_MS } from '../../core/time.ts'
import { type DoctorCheck, NOTHING } from './check.ts'

const OTHERS = 0o077
const MAX_NAMES = 3
const MAX_BACKUP_AGE_DAYS = 2
const SECRET_FILES = ['*.db', '*.db-wal', '*.db-shm', '*.key']
/** Magic numbers from statfs(2). */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
])
const TMPFS = 0x01021994

export const dataFolder: DoctorCheck = {
  name: 'data folder',
  run({ config: { data } }) {
    const stats = statSync(data, { throwIfNoEntry: false })
    // The service creates the folder.
    const folder = stats === undefined ? dirname(resolve(data)) : data
    if (stats !== undefined && (stats.mode & OTHERS) !== 0)
      return [{ finding: `Other users can open the data folder ${data}.`, todo: `chmod 700 ${data}` }]
    try {
      accessSync(folder, constants.W_OK | constants.X_OK)
      return NOTHING
    } catch {
      const todo = 'Run this as the user of the service; chown the folder where that is the user.'
      return [{ finding: `This user cannot write the folder ${folder}.`, todo }]
    }
  },
}

export const dataFiles: DoctorCheck = {
  name: 'data files',
  run({ config: { data } }) {
    const open = globSync(SECRET_FILES, { cwd: data }).filter(
      (file) => (lstatSync(join(data, file)).mode & OTHERS) !== 0,
    )
    if (open.length === 0) return NOTHING
    const names = `${open.slice(0, MAX_NAMES).join(', ')}${open.length > MAX_NAMES ? ', …' : ''}`
    return [{ finding: `Other users can open ${names} in ${data}.`, todo: `chmod go= ${data}/*` }]
  },
}

export const settingsFiles: DoctorCheck = {
  name: 'settings file',
  run: ({ settingsFiles: files }) =>
    files
      .filter((file) => (statSync(file).mode & OTHERS) !== 0)
      .map((file) => ({
        finding: `Other users can read the secrets in ${file}.`,
        todo: `chmod 600 ${file}`,
      })),
}

export const fileSystem: DoctorCheck = {
  name: 'file system',
  run({ config: { data, store } }) {
    if (store !== null || statSync(data, { throwIfNoEntry: false }) === undefined) return NOTHING
    const { type } = statfsSync(data)
    const network = NETWORK_FILE_SYSTEMS.get(type)
    if (network !== undefined)
      return [
        {
          finding: `The databases are on a network file system (${network}), whose locks can fail: they can be damaged.`,
          todo: 'Move TAPELINE_DATA to a local disk, or use PostgreSQL (TAPELINE_STORE).',
        },
      ]
    if (type !== TMPFS) return NOTHING
    const finding = 'The databases are in memory (tmpfs): they are gone when the machine restarts.'
    return [{ finding, todo: 'Move TAPELINE_DATA to a disk.' }]
  },
}

/** An attacker who breaks into a service that runs as root controls the machine. */
export const serviceUser: DoctorCheck = {
  name: 'user',
  run({ config: { data }, service }) {
    const owned = service === undefined ? data : `/proc/${service.pid}`
    if (statSync(owned, { throwIfNoEntry: false })?.uid !== 0) return NOTHING
    return [
      {
        finding: 'The service runs as root.',
        todo: 'Run it as a user of its own (docs/guides/install.md), and chown its data folder.',
      },
    ]
  },
}

export const backup: DoctorCheck = {
  name: 'backup',
  run({ config: { live, nodes, store }, lastBackup: { success, failure }, nowMs }) {
    // Simulated data needs no backup.
    if (live.length === 0 && nodes.length === 0) return NOTHING
    const todo = 'Run tapeline backup --to DIR from a timer.'
    if (failure !== undefined) return [{ finding: `The last backup failed: ${failure.reason}`, todo }]
    const days = success === undefined ? undefined : (nowMs - success.takenAtMs) / DAY_MS
    if (days === undefined) {
      // A PostgreSQL server may be backed up without this program, and a managed one always is.
      if (store !== null) return NOTHING
      return [{ finding: 'There was no backup yet.', todo }]
    }
    if (days <= MAX_BACKUP_AGE_DAYS) return NOTHING
    return [{ finding: `The last backup is ${Math.floor(days)} days old.`, todo }]
  },
}
