import type { DoctorCheck } from './check.ts'
import { nodeEncryption, nodes, store, storeEncryption, venues, webhookEgress } from './connection-checks.ts'
import { metrics, plainExposure, publicUrl, trustedProxies, webhookTargets } from './exposure-checks.ts'
import { backup, dataFiles, dataFolder, fileSystem, serviceUser, settingsFiles } from './folder-checks.ts'
import { clock, disk, memory, openFiles } from './machine-checks.ts'
import { secrets, settings, storePassword } from './secret-checks.ts'
import { certificate, certificateExpiry, privateKey } from './tls-checks.ts'

/** In the order in which they are reported. A new check is written beside others of its kind and added here. */
export const DOCTOR_CHECKS: readonly DoctorCheck[] = [
  settings,
  serviceUser,
  dataFolder,
  dataFiles,
  settingsFiles,
  fileSystem,
  disk,
  memory,
  openFiles,
  clock,
  store,
  storeEncryption,
  storePassword,
  secrets,
  plainExposure,
  publicUrl,
  trustedProxies,
  certificate,
  certificateExpiry,
  privateKey,
  metrics,
  webhookTargets,
  webhookEgress,
  venues,
  nodes,
  nodeEncryption,
  backup,
]
