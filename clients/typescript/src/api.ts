// Made by internal/httpapi/gen from the OpenAPI document; make generate writes it anew.

export interface Answered {
  blocked: number;
  escalated: number;
  fresh: number;
  joined: number;
  replayed: number;
}

export interface Approval {
  /** Whose turn it is. */
  assigned?: Assignment;
  /** Whose edit the present input is. */
  edited_by?: string;
  /** The fields that edits have touched. */
  edited_fields?: string[];
  /** When the question, or the yes that no attempt spent, lapses. */
  expires_at?: string;
  /** A person must say yes before the first attempt. */
  needed: boolean;
  /** How many people must say yes. */
  quorum: number;
  rejected_by?: string;
  /** spent: the first attempt used it, and it covers the later ones. expired: the next request asks anew. */
  state: 'pending' | 'granted' | 'spent' | 'rejected' | 'expired';
  /** Digests of inputs that edits replaced: a request with one of them is answered with the edited effect. */
  superseded_digests?: string[];
  /** Who said yes to what stands now, oldest first. */
  yeses: Yes[];
}

export interface ApprovalEdit {
  /** The whole input. */
  input: unknown;
}

export interface ApprovalList {
  approvals: Operation[];
}

export interface ApprovalShowing {
  /** Why no answer is taken: somebody answered, or what was asked has changed. */
  changed?: string;
  /** To be sent with a yes. */
  contract_version: string;
  /** To be sent with the answer. */
  digest: string;
  /** Who may answer; absent: every approver. */
  groups?: string[];
  /** How you may answer; nothing while no answer is taken. */
  may: ('grant' | 'edit' | 'reject' | 'assign')[];
  operation: Operation;
  /** Why you may not say yes. */
  refused?: string;
  /** What is asked: tool, owners, input, request, documents, who asks, and the decision that led to it. Invisible characters of texts are written as ⟦U+200B⟧; input is the exact value. */
  showing: unknown;
  /** SHA-256 of the showing, under which it is kept as a document once somebody answers. */
  shown: string;
}

export interface ApproveAnswer {
  /** What to do now; absent once it has succeeded. */
  advice?: string;
  /** There is no such operation yet. The yes is kept, and counts once it is claimed with this digest under this contract version. */
  early?: boolean;
  operation?: Operation;
  operation_id: string;
}

export interface ApproveRequest {
  /** The one that was shown. */
  contract_version: string;
  /** The one that was shown. */
  digest: string;
  /** Replaces the input before any attempt. No field of the key can be edited. */
  edit?: ApprovalEdit;
  reason?: string;
  /** Of an operation that does not exist yet: the yes is kept until it is claimed. */
  tool?: string;
}

export interface AssignRequest {
  /** RFC 3339. Absent: of a review as it is, of an approval none. */
  due?: string;
  /** Why it is somebody else's turn. */
  reason: string;
  /** A group. */
  team?: string;
  /** A principal: issuer:subject. It may answer an approval although it is in none of the contract's groups, but must be an approver. */
  to?: string;
}

export interface Assignment {
  due?: string;
  /** A group. */
  team?: string;
  /** A principal: issuer:subject. */
  to?: string;
}

export interface Attempt {
  ended_at?: string;
  /** Why it is not done, or open. */
  error?: AttemptError;
  /** The provider works on: the name by which its end is asked for, such as an MCP task's ID. */
  handle?: string;
  id: string;
  /** The latest instant at which a byte of it could still travel; absent if none was sent. */
  last_byte_at?: string;
  lease_until: string;
  /** Counted from 1; the fencing token. */
  number: number;
  /** The process that made it; caller for a remote attempt. */
  owner: string;
  /** How far the request went, as far as anybody saw. */
  reach: 'unknown' | 'not_dialled' | 'connected' | 'headers_written' | 'body_written' | 'first_byte';
  reference?: string;
  /** Started while an earlier attempt was open, as its effect class allows. */
  resend?: boolean;
  /** What settled it. */
  settled_by?: 'answer' | 'probe' | 'person' | 'callback' | 'later_attempt';
  started_at: string;
  /** open: ended without a verdict, and may have had its effect. */
  status: 'running' | 'open' | 'done' | 'not_done';
}

export interface AttemptError {
  class?: 'validation' | 'auth' | 'rate_limited' | 'conflict' | 'unavailable' | 'timeout' | 'connection' | 'protocol';
  code?: string;
  message?: string;
  /** The same write may succeed later without a change. */
  retryable: boolean;
}

export interface AuditEvent {
  /** The event of an operation, or became_STATE where it has no event; else what was done. */
  action: string;
  /** The principal as issuer:subject, the replica that made a change by itself, or server for what its configuration says. */
  actor: string;
  at: string;
  detail?: string;
  /** Of the row in its table. */
  position: string;
  /** Why, as far as it was asked for. An operation's reasons go with its record. */
  reason?: string;
  /** SHA-256 of the operation's row as it was written. */
  row_hash?: string;
  /** The table that holds the row. */
  source: 'journal' | 'audit';
  /** Of what: an operation's ID, a tool, a token's ID, a run. */
  subject: string;
  /** Of the operation, as the change wrote it. */
  version?: number;
}

export interface AuditPage {
  events: AuditEvent[];
  /** Give it as after to get the next page; absent where nothing is behind it now. */
  next?: string;
}

export interface BatchAnswer {
  results: BatchResult[];
}

export interface BatchRequest {
  /** 1 to 100 operations, each answered alone. */
  operations: OperationRequest[];
  /** How long to wait for the ends, where an operation does not say. */
  wait?: string;
}

export interface BatchResult {
  advice?: string;
  decision?: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  operation?: Operation;
  /** There if the status is 400 or more. */
  problem?: Problem;
  /** The HTTP status of this operation. */
  status: number;
}

export interface BulkAnswer {
  replay: BulkReplay;
}

export interface BulkFilter {
  /** Of this business event. */
  correlation_id?: string;
  /** Created at or after this time, as RFC 3339. */
  from?: string;
  /** Of this run. */
  run?: string;
  /** failed, needs_review, abandoned, outcome_unknown. Absent: the first three. */
  states?: string[];
  /** Created before this time, as RFC 3339. Absent: the time of the request. */
  to?: string;
  /** Of this tool. */
  tool?: string;
}

export interface BulkPage {
  /** Give it as after to get the next page; absent on the last one. */
  next?: string;
  replays: BulkReplay[];
}

export interface BulkReplay {
  actor: string;
  /** How many operations have had each outcome so far. */
  counts: Record<string, number>;
  created_at: string;
  /** More are selected than the 1000 that one replay takes on: start another one for the rest. */
  cut?: boolean;
  dry_run: boolean;
  finished_at?: string;
  id: string;
  plan?: string;
  /** Operations a minute. */
  rate: number;
  reason: string;
  /** Not in lists. In the order in which they were tried, the newest operation first. */
  results?: BulkResult[];
  /** Of a finished dry run: what has to be confirmed to replay also what needs it. */
  sentence?: string;
  state: 'running' | 'finished' | 'cancelled';
  /** Why the server cancelled it: whoever asked may not replay any more. */
  why?: string;
}

export interface BulkRequest {
  /** The plan's sentence, word for word, to replay also what needs a confirmation. */
  confirm?: string;
  /** true: plan each, with a fresh look-up, and replay none. */
  dry_run?: boolean;
  /** Absent, without a plan: every dead letter of the tenant. */
  filter?: BulkFilter;
  /** Names the replay: the same key is the same one. Absent: derived from who asks for what, and why. */
  key?: string;
  /** A finished dry run whose operations are replayed, in place of a filter. */
  plan?: string;
  /** Operations a minute, 1 to 6000; absent: 60. */
  rate?: number;
  /** Why the same intentions are tried again. */
  reason: string;
}

export interface BulkResult {
  /** The newest one when it was chosen. */
  attempt: number;
  /** Why. */
  message?: string;
  operation: string;
  /** moved_on: somebody replayed or settled it since it was chosen. */
  outcome: 'replayed' | 'safe' | 'needs_confirmation' | 'refused' | 'moved_on' | 'error';
}

export interface CancelRequest {
  reason?: string;
}

export interface Chain {
  /** Number of the newest seal; 0: none. */
  seal: number;
  sealed_at?: string;
  /** Number of the newest seal that is signed; 0: none. */
  signed: number;
  signed_at?: string;
  /** Rows that are not sealed yet. */
  unsealed: number;
}

export interface Checkpoint {
  at: string;
  /** The seal's. */
  hash: string;
  /** Ed25519 public key, base64. */
  key: string;
  /** The seal's number. */
  seal: number;
  /** Base64; docs/operating/audit.md says over what. */
  signature: string;
}

export interface CheckpointPage {
  /** In the order of their seals. Keep them somewhere else: who holds one can tell whether the trail before it was made anew. */
  checkpoints: Checkpoint[];
}

export interface ClaimAnswer {
  /** What to do now. */
  advice?: string;
  /** There if the caller is to perform the write, once. */
  attempt?: RemoteAttempt;
  decision: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  operation: Operation;
}

export interface ClaimRequest {
  /** As for POST /v1/operations. */
  branch?: string;
  /** Random, 16 to 255 characters, new for each try. The same token gets the same attempt again, so that a lost answer is harmless. */
  claim_token: string;
  correlation_id?: string;
  /** As for POST /v1/operations. */
  decision?: string;
  input: unknown;
  /** As for POST /v1/operations. */
  key?: string;
  on_duplicate?: 'return' | 'fail' | 'fail_if_running';
  run?: string;
  /** The name of a contract whose executor is the caller. */
  tool: string;
  /** How long to wait for the end of somebody else's attempt. */
  wait?: string;
}

export interface CommentRequest {
  /** What the next one has to know. No secrets: whoever reads the operation reads it. */
  text: string;
}

export interface ContractDifference {
  field: string;
  is?: string;
  was?: string;
  why: string;
  /** The newer one risks more, or nobody can tell that it does not. */
  widens: boolean;
}

export interface ContractDocument {
  in_force: boolean;
  /** The document, as it was loaded. Secrets stand in it by reference only. */
  source: string;
  tool: string;
  version: string;
}

export interface ContractSigning {
  /** The version in place of which it was signed. */
  against: string;
  as: 'business' | 'technical';
  at: string;
  /** For people of the server's own tenant only. */
  by?: string;
  /** For people of the server's own tenant only. */
  reason?: string;
}

export interface ContractVersion {
  /** The version that it is compared with: the one in force if it waits, else the one before. */
  against?: string;
  differences: ContractDifference[];
  in_force: boolean;
  /** Why the two cannot be compared. */
  incomparable?: string;
  /** It waits for its owners' yes; another version is in force. */
  proposed: boolean;
  /** The order in which versions came. */
  serial: number;
  signed: ContractSigning[];
  /** Whose yes it waits for. */
  unsigned?: ('business' | 'technical')[];
  version: string;
}

export interface ContractVersionAnswer {
  tool: string;
  version: ContractVersion;
}

export interface ContractVersionList {
  tool: string;
  versions: ContractVersion[];
}

export interface DataKey {
  /** Since then nothing new is encrypted with it. */
  closed_at?: string;
  created_at: string;
  id: string;
  /** The master key that wraps it; absent once it is shredded. */
  master?: string;
  shredded_at?: string;
  /** Absent: the tenant's own, which names subjects. */
  subject_id?: string;
}

export interface Decided {
  /** Who is deciding. */
  claimed_by?: string;
  /** Computed from run and step. */
  id: string;
  /** Of the claim. */
  lease_until?: string;
  run: string;
  /** Outputs, confidence and reasons are gone with their data key. What was pinned stays pinned. */
  shredded?: boolean;
  /** open: nobody decides it now. */
  state: 'open' | 'claimed' | 'pinned';
  step: string;
  /** Whose data it is, as its run's. */
  subject_id?: string;
  /** Of the decision, from 1: each one after that was asked for with a reason. */
  version: number;
  /** Oldest first; the last one is in force. */
  versions: DecisionVersion[];
}

export interface DecisionAnswer {
  /** fresh: this request pinned or claimed it. replayed: it was pinned. joined: it was waited for. */
  answered: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  /** There if this request has the right to decide. */
  claim?: DecisionClaim;
  decision: Decided;
  /** pinned: act on it. claimed: decide, and send the output with the token. pending: somebody else is deciding; ask again. */
  state: 'pinned' | 'claimed' | 'pending';
}

export interface DecisionClaim {
  /** Whoever asks after that gets a claim of its own. */
  lease_until: string;
  token: string;
}

export interface DecisionRequest {
  /** To pin: the one of the claim. To claim: one of the caller's own, at least 16 characters, with which a lost answer is asked for again; one is made if absent. */
  claim_token?: string;
  /** How sure the step is, from 0 to 1, if it says. */
  confidence?: number;
  /** What the step decides about. Its digest is kept, it is not. */
  input?: unknown;
  /** In place of input: SHA-256 over its canonical form, in hexadecimal. */
  input_digest?: string;
  /** How long a claim holds: 2m if absent, 15m at most. The same token again prolongs it. */
  lease?: string;
  /** Who decides. */
  model?: string;
  /** What the step decided, to be pinned. Absent: the request asks for what is pinned, or for the right to decide. */
  output?: unknown;
  /** By what it was asked. */
  prompt_version?: string;
  /** Of the rules that follow. Where the workflow has a document it is that one's, and may be left out. */
  rule_version?: string;
  /** The run's ID. */
  run: string;
  /** JSON Schema of the output, where the workflow has no document. */
  schema?: unknown;
  /** The step's name. A step decides once for each run. */
  step: string;
  /** How long to wait for somebody else who is deciding: 10s if absent, 60s at most. */
  wait?: string;
}

export interface DecisionState {
  decision: Decided;
  /** The operations that it led to, oldest first. */
  operations: Operation[];
}

export interface DecisionVersion {
  branch?: string;
  confidence?: number;
  input_digest?: string;
  model?: string;
  opened_at: string;
  opened_by: string;
  /** The validated fields; absent until it is pinned. */
  output?: unknown;
  pinned_at?: string;
  pinned_by?: string;
  prompt_version?: string;
  /** Why it is decided anew; absent in the first version. */
  reason?: string;
  /** Which rule chose the branch. */
  rule?: string;
  rule_version?: string;
  version: number;
}

export interface DocumentAnswer {
  media_type: string;
  sha256: string;
  /** In bytes. */
  size: number;
  /** Whose data it is, by the ledger's name of that subject. */
  subject_id?: string;
}

export interface DocumentRef {
  name: string;
  /** Of its bytes, in lower-case hexadecimal. */
  sha256: string;
  /** Where it is, at a host of the contract; absent: it was uploaded. A linked document that changes before the first attempt voids the approval. */
  url?: string;
}

export interface Event {
  /** A principal, or the process that did it. */
  actor?: string;
  at: string;
  attempt?: number;
  /** A fact, such as attempt_unknown; docs/state-machine.md explains each. claimed: it was seen for the first time. */
  event: string;
  /** What was seen; only for whoever may see the result. */
  evidence?: Evidence;
  from?: 'awaiting_approval' | 'ready' | 'effect_pending' | 'outcome_unknown' | 'needs_review' | 'succeeded' | 'failed' | 'abandoned' | 'cancelled' | 'compensated';
  reason?: string;
  reference?: string;
  /** The document that an approver was shown, by its SHA-256. */
  shown?: string;
  to: 'awaiting_approval' | 'ready' | 'effect_pending' | 'outcome_unknown' | 'needs_review' | 'succeeded' | 'failed' | 'abandoned' | 'cancelled' | 'compensated';
  /** The version of the operation that the event made; absent where the operation itself tells it. */
  version?: number;
}

export interface EventDecision {
  /** Why, for whoever reads it later. */
  reason: string;
}

export interface Evidence {
  /** The first bytes of the answer: a JSON value, else text. */
  body?: unknown;
  body_base64?: string;
  /** The answer ended before its promised end. */
  body_cut?: boolean;
  /** The answer was longer than what is read to judge it. */
  body_too_big?: boolean;
  ended_at?: string;
  error_class?: 'validation' | 'auth' | 'rate_limited' | 'conflict' | 'unavailable' | 'timeout' | 'connection' | 'protocol';
  error_code?: string;
  error_text?: string;
  headers?: Record<string, string[]>;
  last_byte_at?: string;
  reach: 'unknown' | 'not_dialled' | 'connected' | 'headers_written' | 'body_written' | 'first_byte';
  remote_addr?: string;
  started_at?: string;
  /** The HTTP status; absent if no answer came. */
  status?: number;
}

export interface FinishRequest {
  /** How it ended. */
  outcome: 'succeeded' | 'failed' | 'cancelled';
  /** Why it ended so. */
  reason?: string;
}

export interface ForkRequest {
  /** The first operation's, if absent; needed where its contract does not keep it. */
  input?: unknown;
  /** Names the second intention; also as Idempotency-Key. The same key is the same fork. */
  key?: string;
  /** Why the effect is wanted a second time. */
  reason: string;
  /** How long to wait for the end: 10s if absent, 60s at most. */
  wait?: string;
}

export interface Health {
  status: 'ok' | 'ready';
}

export interface HeartbeatAnswer {
  lease_until: string;
}

export interface HeartbeatRequest {
  /** The attempt's secret, if it is not in the header Onceward-Attempt-Secret. */
  secret?: string;
}

export interface HeldVersion {
  /** Whose yes it waits for. */
  unsigned: ('business' | 'technical')[];
  version: string;
}

export interface Hold {
  at: string;
  by: string;
  /** It covers what was created then or later. */
  from?: string;
  id: string;
  /** It covers that operation; absent: any. */
  operation?: string;
  reason: string;
  /** It covers the operations of that subject; absent: of any. The subject's name is not kept. */
  subject_id?: string;
  /** It covers the operations of that tool; absent: of any. */
  tool?: string;
  /** It covers what was created before; absent: whatever comes. */
  until?: string;
}

export interface HoldAnswer {
  hold: Hold;
}

export interface HoldList {
  holds: Hold[];
}

export interface HoldRequest {
  /** Created then or later, as 2026-01-02T15:04:05Z. */
  from?: string;
  /** That operation alone. */
  operation?: string;
  /** What it is held for; noted in the audit trail. */
  reason: string;
  /** The operations of that subject, by the name that its contract's keep.subject gives. */
  subject?: string;
  /** The operations of that tool. */
  tool?: string;
  /** Created before. */
  until?: string;
}

export interface HookAnswer {
  /** What the sender asked to read back. */
  challenge?: string;
  /** In the order of the delivery; empty for a challenge. */
  events: HookEvent[];
}

export interface HookEvent {
  /** fresh, or replayed: it was there already. */
  decision: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  id: string;
}

export interface InboxEvent {
  /** Who drove it again or dismissed it. */
  actor?: string;
  /** A JSON value as it came; else the text in a string. Only where one event is read. */
  body?: unknown;
  /** Why it waits, or is tried again. */
  code?: 'invalid_request' | 'invalid_input' | 'too_large' | 'unsupported_media' | 'unsupported_policy' | 'cursor_invalid' | 'key_missing' | 'key_invalid' | 'key_ambiguous' | 'key_reused' | 'key_retired' | 'keys_missing' | 'shredded' | 'held' | 'hold_not_found' | 'key_collision' | 'duplicate' | 'still_running' | 'tool_not_found' | 'operation_not_found' | 'replay_not_found' | 'saga_not_found' | 'document_not_found' | 'run_not_found' | 'decision_not_found' | 'decision_conflict' | 'output_invalid' | 'branch_forbids' | 'workflow_mismatch' | 'attempt_not_found' | 'source_not_found' | 'event_not_found' | 'signature_invalid' | 'route_not_found' | 'method_not_allowed' | 'token_not_found' | 'unauthenticated' | 'forbidden' | 'origin_refused' | 'state_forbids' | 'fence_lost' | 'evidence_required' | 'confirmation_needed' | 'replay_refused' | 'operation_failed' | 'contract_invalid' | 'contract_superseded' | 'config_invalid' | 'rate_limited' | 'overloaded' | 'ledger_unavailable' | 'may_be_recorded' | 'ledger_read_only' | 'ledger_foreign' | 'ledger_too_new' | 'ledger_behind' | 'ledger_corrupt' | 'write_conflict' | 'canceled' | 'provider_unreachable' | 'result_not_kept' | 'passed_unknown' | 'internal';
  content_type?: string;
  /** When it is handled. */
  due_at?: string;
  handled_at?: string;
  /** Those that its source keeps. */
  headers?: Record<string, string>;
  id: string;
  /** What names it in every delivery. */
  key: string;
  /** The same in words, or what is to be known of how it was handled. */
  message?: string;
  /** That it made, joined or settled. */
  operations: string[];
  /** As given by that person. */
  reason?: string;
  received_at: string;
  run?: string;
  /** When it happened, by its own word. */
  sent_at?: string;
  source: string;
  /** unmapped, failed and late wait for a person. */
  state: 'received' | 'handled' | 'ignored' | 'unmapped' | 'failed' | 'late' | 'dismissed';
  /** How often it was handled since it was received or driven again. */
  tries: number;
  /** Of the source's document under which it is handled. */
  version: string;
}

export interface InboxEventAnswer {
  event: InboxEvent;
}

export interface InboxEventPage {
  events: InboxEvent[];
  /** The cursor of the next page; absent on the last. */
  next?: string;
}

export interface IssuedToken {
  /** What the bearer sends: Authorization: Bearer ow_… It cannot be read again. */
  secret: string;
  token: Token;
}

export interface KeyList {
  data_keys: DataKey[];
  /** The master keys of this server, by name; the first wraps. */
  masters: string[];
  /** To be given as after; absent on the last page. */
  next?: string;
  /** The master keys that wrap data keys of any tenant. */
  uses: MasterUse[];
}

export interface LiftRequest {
  /** Why it is over; noted in the audit trail. */
  reason: string;
}

export interface MasterUse {
  data_keys: number;
  master: string;
}

export interface Operation {
  /** The principal of the first request. */
  actor: string;
  /** There if the contract asks for one. */
  approval?: Approval;
  /** The attempts, oldest first; only where one operation is read. */
  attempt_list?: Attempt[];
  /** How many attempts were started; absent once that went with the record. */
  attempts?: number;
  /** The operation that holds the resource which this one waits for; not in lists. */
  blocked_by?: string;
  /** Somebody wants it not to happen; until it is settled that is a wish. */
  cancel_requested: boolean;
  /** When it ended. */
  completed_at?: string;
  /** The contract version that holds for this operation to its end. */
  contract_version: string;
  correlation_id?: string;
  created_at: string;
  /** What a step of the run decided, and led to it. */
  decision?: OperationDecision;
  /** SHA-256 over the canonical material input. */
  digest: string;
  /** What supports the request; part of the digest. */
  documents?: DocumentRef[];
  /** When it is looked at again by itself. */
  due_at?: string;
  /** Why it is not done: of the last attempt that was not, or is unknown. */
  error?: OperationError;
  /** The timeline, oldest first; only where one operation is read. */
  events?: Event[];
  /** Which use of the key it is: 0 is the first, or the time of it in seconds where the contract lets tombstones end; each use of the retired key adds 1. */
  generation?: number;
  /** Computed from tenant, tool and key. */
  id: string;
  /** What makes two requests the same intention. */
  key: string;
  /** Attempts that may have had their effect and that nothing has settled; absent once they went with the record. */
  open_attempts?: number;
  /** Why it waits although it could start. */
  parked?: 'tool_paused' | 'rate' | 'serialized';
  /** The key or marker that the provider sees, equal on every attempt. */
  provider_key?: string;
  /** The provider's name of the effect. */
  reference?: string;
  /** The effect is proven, its reference could not be read. */
  reference_pending?: boolean;
  /** The provider's answer. */
  result?: Result;
  /** There is a result, and it is another principal's. */
  result_withheld?: boolean;
  /** Slimmed to a tombstone: input, result and attempts are gone. */
  retired?: boolean;
  /** Why a person is asked. */
  review_reason?: string;
  run?: string;
  /** Its bodies are gone with their data key: input, result and messages cannot be read any more. State, reference and times hold. */
  shredded?: boolean;
  /** docs/state-machine.md explains each. */
  state: 'awaiting_approval' | 'ready' | 'effect_pending' | 'outcome_unknown' | 'needs_review' | 'succeeded' | 'failed' | 'abandoned' | 'cancelled' | 'compensated';
  /** Whose data its encrypted bodies are; absent: they are not encrypted. */
  subject_id?: string;
  /** Whose data it is; from the credentials of the first request. */
  tenant: string;
  tool: string;
  updated_at: string;
}

export interface OperationAnswer {
  /** What to do now; absent once it has succeeded. */
  advice?: string;
  /** How the request was answered. fresh: it created the operation. */
  decision: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  operation: Operation;
}

export interface OperationDecision {
  branch?: string;
  confidence?: number;
  /** An approver changed the input after the decision: the effect is not of these fields alone. */
  edited_by?: string;
  /** The fields of the input that were changed. */
  edited_fields?: string[];
  id: string;
  input_digest?: string;
  model?: string;
  /** The validated fields. */
  output?: unknown;
  prompt_version?: string;
  rule?: string;
  rule_version?: string;
  /** This and what follows only where one operation is read. */
  step?: string;
  /** Of the decision. */
  version: number;
}

export interface OperationError {
  /** What to do now, in a sentence that an agent can follow. */
  advice: string;
  /** What kind of trouble; absent where no attempt met any. */
  class?: 'validation' | 'auth' | 'rate_limited' | 'conflict' | 'unavailable' | 'timeout' | 'connection' | 'protocol';
  /** The provider's own code, or a short name of ours. */
  code: string;
  message: string;
  /** Somebody has to find out what happened before it is repeated. */
  reconciliation_required: boolean;
  /** Asking again with the same key may bring another answer. */
  retryable: boolean;
  /** The write may have had its effect though nothing proves it. */
  side_effect_possible: boolean;
}

export interface OperationPage {
  /** The cursor of the next page, to be given as after; absent on the last page. */
  next?: string;
  operations: Operation[];
}

export interface OperationRequest {
  /** The branch on which the caller takes itself to be. Another one than the pinned decision chose is refused. */
  branch?: string;
  /** Follows one business event through all services. */
  correlation_id?: string;
  /** The ID of the decision that led to this. Its run is this one's; the tool has to be one of its branch. */
  decision?: string;
  /** What supports the request, 16 at most; shown to approvers, and part of the digest. */
  documents?: DocumentRef[];
  /** What the contract's input schema takes. Numbers are kept digit by digit. */
  input: unknown;
  /** The caller's key, 1 to 255 visible ASCII characters, raw or as a quoted string; ignored where the contract derives one. Must equal the Idempotency-Key header, if both are there. */
  key?: string;
  /** What a second request with the same key wants; return if absent. */
  on_duplicate?: 'return' | 'fail' | 'fail_if_running';
  /** The run that this belongs to: its ID, or a free label. Any text that has not the form of a run ID is a label. */
  run?: string;
  /** The name of a contract in force. */
  tool: string;
  /** How long to wait for the end: 10s if absent, 60s at most. */
  wait?: string;
}

export interface OperationState {
  /** What to do now; absent once it has succeeded. */
  advice?: string;
  operation: Operation;
}

export interface OutboxDecided {
  /** It is given up; else it is offered again. */
  dropped: boolean;
  event: string;
  sink: string;
}

export interface OutboxDecision {
  /** Its ID. */
  event: string;
  /** Why, for whoever reads it later. */
  reason: string;
  /** The destination that did not take it. */
  sink: string;
}

export interface OutboxEvent {
  correlation_id?: string;
  /** It is not offered again by itself. */
  dead: boolean;
  /** When it is offered again; absent if it is dead, or behind another one of its key. */
  due_at?: string;
  /** Its ID: the message ID of every delivery. */
  event: string;
  /** Those of one key are handed on in order; empty: in none. */
  key: string;
  /** Why it was not taken. */
  message?: string;
  /** When it was set aside. */
  since: string;
  sink: string;
  /** How often it was offered; 0 behind another one. */
  tries: number;
  type: string;
}

export interface OutboxEventPage {
  events: OutboxEvent[];
  /** The cursor of the next page; absent on the last. */
  next?: string;
}

export interface OutboxSink {
  /** That it has still to be given, counted up to 100000. */
  behind_events: number;
  /** That are set aside until a person drives them again. */
  dead_events: number;
  /** Age of the oldest of them; 0 if there is none. */
  lag_seconds: number;
  /** The process that holds it, or held it last. */
  owner: string;
  sink: string;
  /** That are set aside, and offered again by themselves. */
  waiting_events: number;
}

export interface OutboxSinkList {
  sinks: OutboxSink[];
}

export interface OutcomeError {
  class?: 'validation' | 'auth' | 'rate_limited' | 'conflict' | 'unavailable' | 'timeout' | 'connection' | 'protocol';
  /** The provider's own code. */
  code?: string;
  /** One sentence without payloads or secrets. */
  message?: string;
  /** The same write may succeed later without a change. */
  retryable?: boolean;
}

export interface OutcomeRequest {
  /** Why not, with not_done and unknown. */
  error?: OutcomeError;
  /** What was seen, for whoever has to settle it. */
  evidence?: Seen;
  /** done: the effect exists. not_done: it surely does not, and will not. unknown: anything else. */
  outcome: 'done' | 'not_done' | 'unknown';
  /** The provider's name of the effect, with done. */
  reference?: string;
  /** What later requests are answered with, with done. */
  result?: OutcomeResult;
  /** The attempt's secret, if it is not in the header Onceward-Attempt-Secret. */
  secret?: string;
}

export interface OutcomeResult {
  /** A JSON value. */
  body?: unknown;
  /** Any other body. */
  body_base64?: string;
  /** At most 100 values, of 32 KiB with their names. Cookies, credentials and hop-by-hop headers are dropped. */
  headers?: Record<string, string[]>;
  /** 100 to 599. */
  status?: number;
}

export interface Pause {
  at: string;
  by: string;
  /** auth: the provider refused the credential. effect_multiplied: an operation had two effects. Else a person's words. */
  reason: string;
}

export interface PauseAnswer {
  paused: Pause;
  tool: string;
}

export interface PauseRequest {
  /** Why, so that the next person knows when to resume. */
  reason: string;
}

export interface PrincipalAnswer {
  effects?: string[];
  groups?: string[];
  issuer: string;
  roles: string[];
  subject: string;
  tenant: string;
  tools?: string[];
}

export interface Problem {
  /** What to do now, in a sentence that an agent can follow. */
  advice: string;
  /** One of a closed list; docs/reference/errors.md explains each. */
  code: 'invalid_request' | 'invalid_input' | 'too_large' | 'unsupported_media' | 'unsupported_policy' | 'cursor_invalid' | 'key_missing' | 'key_invalid' | 'key_ambiguous' | 'key_reused' | 'key_retired' | 'keys_missing' | 'shredded' | 'held' | 'hold_not_found' | 'key_collision' | 'duplicate' | 'still_running' | 'tool_not_found' | 'operation_not_found' | 'replay_not_found' | 'saga_not_found' | 'document_not_found' | 'run_not_found' | 'decision_not_found' | 'decision_conflict' | 'output_invalid' | 'branch_forbids' | 'workflow_mismatch' | 'attempt_not_found' | 'source_not_found' | 'event_not_found' | 'signature_invalid' | 'route_not_found' | 'method_not_allowed' | 'token_not_found' | 'unauthenticated' | 'forbidden' | 'origin_refused' | 'state_forbids' | 'fence_lost' | 'evidence_required' | 'confirmation_needed' | 'replay_refused' | 'operation_failed' | 'contract_invalid' | 'contract_superseded' | 'config_invalid' | 'rate_limited' | 'overloaded' | 'ledger_unavailable' | 'may_be_recorded' | 'ledger_read_only' | 'ledger_foreign' | 'ledger_too_new' | 'ledger_behind' | 'ledger_corrupt' | 'write_conflict' | 'canceled' | 'provider_unreachable' | 'result_not_kept' | 'passed_unknown' | 'internal';
  /** How a request for an operation was answered; blocked is every refusal. */
  decision?: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  /** What is wrong, and where: the member, line and column of a body. */
  detail?: string;
  /** The operation itself, with operation_failed. */
  operation?: Operation;
  /** The operation that is concerned. */
  operation_id?: string;
  /** Somebody has to find out what happened before it is repeated. */
  reconciliation_required: boolean;
  /** Names this request in the server's log. */
  request_id?: string;
  /** Asking again with the same key may bring another answer. */
  retryable: boolean;
  /** The write may have had its effect though nothing proves it. */
  side_effect_possible: boolean;
  /** The HTTP status; inside a batch, the status that the item would have had alone. */
  status: number;
  /** The code in words; the same for every problem of the code. */
  title: string;
  /** A URI that names the code: urn:onceward:problem:<code>. */
  type: string;
}

export interface RedecideRequest {
  /** Why what is pinned shall not hold any more. */
  reason: string;
  /** The version that the caller has seen. Where that was decided anew already, nothing changes: so an answer that was lost can be asked for again. */
  version?: number;
}

export interface RejectRequest {
  /** The one that was shown. */
  digest: string;
  reason: string;
}

export interface RemoteAttempt {
  /** The attempt's number: a system that keeps the highest one it saw can refuse a late write. */
  fence: number;
  id: string;
  /** Silence past it makes the outcome unknown. */
  lease_until: string;
  /** For heartbeat and outcome. */
  secret: string;
}

export interface ReplayPlan {
  /** As the fresh look-up left it. */
  operation: Operation;
  /** What the fresh look-up saw; none: there was none. */
  probe: 'none' | 'found' | 'absent' | 'inconclusive';
  /** Why, the deciding reason first. */
  reasons: string[];
  /** What has to be confirmed word for word, with needs_confirmation. */
  sentence?: string;
  /** How the record that caused it stands now; absent: the contract does not say (source.was). */
  source?: SourceState;
  verdict: 'safe' | 'needs_confirmation' | 'refused';
}

export interface ReplayRequest {
  /** The plan's sentence, word for word, if it has one. */
  confirm?: string;
  /** Why the same intention is tried again. */
  reason: string;
}

export interface Report {
  approvals: Waits;
  chain: Chain;
  /** The trail of the time is too long: what is behind its first million rows is missing in what is read from it. */
  cut?: boolean;
  /** How often each event of operations stands in the journal. */
  events: Record<string, number>;
  from: string;
  /** What people and the server did that is no change of an operation, oldest first. */
  lines: AuditEvent[];
  /** There are more lines: read the audit trail. */
  lines_cut?: boolean;
  made_at: string;
  reviews: Waits;
  /** Events that senders delivered; no part of the total. Blocked counts deliveries, the others events. */
  sources: SourceReport[];
  /** Stop switches in force now, the widest first. */
  stopped: Switch[];
  /** A tool counts for each owner that its contract names. */
  teams: TeamReport[];
  tenant: string;
  /** By the hour, or by the day where it is more than two days. */
  times: TimeReport[];
  to: string;
  tools: ToolReport[];
  /** How requests were answered. Counted in the server and written every five seconds: a process that was killed lost at most what it counted since. */
  total: Answered;
  unknowns: Waits;
}

export interface ReportAnswer {
  report: Report;
}

export interface ResolveRequest {
  /** The newest attempt that the person saw: if another one was made since, nothing is settled. Absent: that of the moment in which the request arrives. */
  attempt?: number;
  /** succeeded: the effect exists. not_performed: it does not, and will not. abandoned: nobody will look any further. */
  outcome: 'succeeded' | 'not_performed' | 'abandoned';
  /** How it is known. Reference or reason is needed. */
  reason?: string;
  /** The provider's name of the effect; a write that succeeded needs it. */
  reference?: string;
  /** What follows from not_performed: retry or fail. Needed with it, refused with the others. */
  then?: 'retry' | 'fail';
}

export interface Result {
  /** The JSON value, if the body is one; else its text as a string. */
  body?: unknown;
  /** The body, if it is neither JSON nor UTF-8 text. */
  body_base64?: string;
  /** False: the effect is done, but its body was too large, cut or not to be kept. A body that is kept is whole. */
  body_kept: boolean;
  /** The body has the members of the provider's answer, and the names of their types in place of values. */
  body_redacted?: boolean;
  /** What of the answer's headers may be replayed; repeated ones stay a list. */
  headers?: Record<string, string[]>;
  /** The provider's HTTP status; absent where there was none. */
  status?: number;
}

export interface ResumeAnswer {
  /** How many waiting operations were let go. */
  released: number;
  tool: string;
}

export interface Review {
  /** What may be answered at POST /v1/operations/{id}/resolve, for the newest attempt; empty: nothing has to be settled. */
  answers: ReviewAnswer[];
  /** What the look-up cannot see, in words. */
  blind_spots?: string;
  business_owner?: string;
  /** When it has to be settled. */
  due?: string;
  /** The effect can be looked up: POST /v1/operations/{id}/reconcile. */
  has_probe: boolean;
  /** In a list without attempts and events. */
  operation: Operation;
  /** That time has passed. */
  overdue?: boolean;
  /** Who has taken it, or was given it by name; absent: nobody. */
  owner?: string;
  /** Since when it is with them. */
  since?: string;
  /** Who is asked. */
  team?: string;
  technical_owner?: string;
}

export interface ReviewAnswer {
  /** The attempt that the answer is for: after another one nothing is settled. */
  attempt: number;
  /** What follows from it. */
  consequence: string;
  /** What has to be given with it. */
  needs: 'reference' | 'reason';
  outcome: 'succeeded' | 'not_performed' | 'abandoned';
  then?: 'retry' | 'fail';
  /** What the person has found out. */
  when: string;
}

export interface ReviewDetail {
  review: Review;
}

export interface ReviewPage {
  /** Events of senders that wait for a person, newest first: on the first page of the whole queue only. GET /v1/events?waiting=true has all of them. */
  events: InboxEvent[];
  /** Give it as after to get the next page; absent on the last one. */
  next?: string;
  reviews: Review[];
}

export interface RotationAnswer {
  /** The first of them wraps every data key now, unless there are more. */
  masters: string[];
  /** Others are left: ask again. */
  more: boolean;
  /** Data keys that were wrapped anew just now. */
  rotated: number;
  uses: MasterUse[];
}

export interface Run {
  /** The principal that started it. */
  actor: string;
  correlation_id?: string;
  created_at: string;
  finished_at?: string;
  finished_by?: string;
  /** Computed from tenant, workflow and trigger key. */
  id: string;
  /** Not in lists. */
  input?: unknown;
  input_digest?: string;
  /** How it ended, by the word of whoever handled it. What happened outside is told by its operations. */
  outcome?: 'succeeded' | 'failed' | 'cancelled';
  reason?: string;
  /** The version of the workflow's document that holds for the run to its end; absent where there is none. */
  rule_version?: string;
  /** Input and reason are gone with their data key. */
  shredded?: boolean;
  /** finished: what is there is answered, nothing new joins it. */
  state: 'open' | 'finished';
  /** Whose data it is, by the ledger's name of that subject. */
  subject_id?: string;
  trigger_key: string;
  /** The workflow's version that the run started under, and stays under. */
  version: string;
  workflow: string;
}

export interface RunAnswer {
  /** What to do now. */
  advice?: string;
  /** fresh: this request started it. joined: it was there, and is open. replayed: it was there, and is finished. */
  decision: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  run: Run;
}

export interface RunDetail {
  /** What its steps decided, oldest first. */
  decisions: Decided[];
  /** There are more than are shown here: list the operations by run. */
  more?: boolean;
  /** Its operations, oldest first. */
  operations: Operation[];
  run: Run;
  /** The saga whose steps its operations are; absent where it is none. */
  saga?: Saga;
  /** What happened, in the order of time. */
  timeline: RunEvent[];
}

export interface RunEvent {
  actor?: string;
  at: string;
  /** Of a run: started, finished. Of a decision: claimed, pinned, opened_anew. Of an operation: created, ended. Of an approval: its own. Of a saga's step: its state. */
  event: string;
  /** Of the run, the decision, the operation or the saga. */
  id: string;
  kind: 'run' | 'decision' | 'operation' | 'approval' | 'saga';
  /** Of the workflow, the step or the tool. */
  name: string;
  reason?: string;
  /** The version, outcome, branch or state. */
  what?: string;
}

export interface RunItems {
  decisions: Decided[];
  operations: Operation[];
}

export interface RunPage {
  /** Give it as after to get the next page; absent on the last one. */
  next?: string;
  runs: Run[];
}

export interface RunRequest {
  /** Follows one business event through all services; the run's operations take it over. */
  correlation_id?: string;
  /** What the event says; kept with the run. Another input under the same trigger key is refused. */
  input?: unknown;
  /** In place of input, where that must not be kept: SHA-256 over its canonical form, in hexadecimal. */
  input_digest?: string;
  /** What a second request with the same trigger key wants; return if absent. */
  on_duplicate?: 'return' | 'fail' | 'fail_if_running';
  /** Whose data the input is: it, and what the run's steps decide, is made unreadable when that subject is shredded. Needs master keys; not part of what a repeat is compared by. */
  subject?: string;
  /** Names the business event: 1 to 255 visible ASCII characters. It starts one run of the workflow, whatever its version. */
  trigger_key: string;
  /** The workflow's version; the one in force, if a document describes the workflow. Not part of the run's identity. */
  version?: string;
  /** The workflow that handles the business event. */
  workflow: string;
}

export interface RunResume {
  /** Decided, or happened: to be used, not to be done again. */
  done: RunItems;
  /** Ended without its effect, or nobody knows: for the program, or a person, to judge. */
  ended: RunItems;
  /** There are more than are shown here: list the operations by run. */
  more?: boolean;
  /** What the workflow's document has left to do: the first step that is not decided, and the tools of chosen branches that were not called. Empty without a document. */
  next: RunStep[];
  run: Run;
  /** Being decided, or not final: to be asked for again. */
  waiting: RunItems;
}

export interface RunState {
  run: Run;
}

export interface RunStep {
  /** That the step chose; absent where it is to be decided. */
  branch?: string;
  step: string;
  /** That may be called on the branch; absent where the step is to be decided. */
  tool?: string;
}

export interface Saga {
  /** The principal that started it. */
  actor: string;
  /** Why it goes back, or went back. */
  cause?: string;
  correlation_id?: string;
  created_at: string;
  finished_at?: string;
  /** Computed from tenant, name and key. */
  id: string;
  key: string;
  name: string;
  /** What it waits for from a person. */
  note?: string;
  /** The run that its operations are in. */
  run: string;
  /** Its inputs, and what went wrong in words, are gone with their data key. */
  shredded?: boolean;
  state: 'running' | 'compensating' | 'needs_review' | 'succeeded' | 'compensated' | 'failed' | 'cancelled';
  steps: SagaStep[];
  /** Whose data it is, by the ledger's name of that subject. */
  subject_id?: string;
  updated_at: string;
  /** How it stands, in sentences. */
  words: string;
}

export interface SagaAnswer {
  saga: Saga;
}

export interface SagaCancel {
  /** Why. */
  reason?: string;
}

export interface SagaPage {
  /** Give it as after to get the next page; absent on the last one. */
  next?: string;
  sagas: Saga[];
}

export interface SagaRequest {
  /** Follows one business event through all services. */
  correlation_id?: string;
  /** Names the business event: 1 to 255 visible ASCII characters. It starts one saga of the name, and the run of the same name and trigger key. */
  key: string;
  /** The kind of business event, such as orders.place. */
  name: string;
  /** In the order in which they are done. Other steps under the same key are refused. */
  steps: SagaStepRequest[];
  /** Whose data the inputs of the steps are: they are made unreadable when that subject is shredded. Needs master keys; not part of what a repeat is compared by. */
  subject?: string;
}

export interface SagaResolve {
  /** Of a saga that goes back, undone: it was undone by hand; kept: its effect stays. Of one that goes forward, done. */
  outcome: 'undone' | 'kept' | 'done';
  /** How it is known, or why it stays so. */
  reason: string;
  /** The step that it waits for. */
  step: string;
}

export interface SagaStarted {
  /** fresh: this request started it. joined: it goes on. replayed: it has ended. */
  decision: 'fresh' | 'replayed' | 'joined' | 'blocked' | 'escalated';
  saga: Saga;
}

export interface SagaStep {
  /** The operation that undoes it, once that has started. */
  compensation?: string;
  ended_at?: string;
  kind: 'compensable' | 'retryable' | 'confirm_first';
  name: string;
  /** Its operation, once it has started. */
  operation?: string;
  /** Others asked for its operation: the saga does not undo it. */
  shared?: boolean;
  started_at?: string;
  state: 'pending' | 'started' | 'done' | 'not_done' | 'undoing' | 'undone' | 'kept';
  tool: string;
  undone_at?: string;
  why?: string;
}

export interface SagaStepRequest {
  /** Its input. A text that is ${steps.NAME.reference} or ${steps.NAME.result.MEMBER} as a whole stands for what that earlier step had. */
  input: unknown;
  /** compensable: it is undone if a later step is not done. retryable: it is tried until it is done. confirm_first: it cannot be undone, and a person approves it first. Absent: compensable where something undoes the tool, retryable where it writes nothing, else confirm_first. */
  kind?: 'compensable' | 'retryable' | 'confirm_first';
  /** One of its saga. */
  name: string;
  /** The tool whose operation the step is. */
  tool: string;
  /** What undoes the step, in place of the contract's compensate. */
  undo?: SagaUndoRequest;
}

export interface SagaUndoRequest {
  /** As a step's; it may refer to the step itself. */
  input: unknown;
  tool: string;
}

export interface Seen {
  /** What was seen, in words. */
  note?: string;
  /** The HTTP status, if an answer came. */
  status?: number;
}

export interface ShredAnswer {
  /** Data keys that were removed just now; 0: there was nothing to shred, or it was done before. */
  shredded: number;
  subject_id: string;
}

export interface ShredRequest {
  /** Why; noted in the audit trail. */
  reason: string;
  /** By the name that the contracts' keep.subject gives. */
  subject: string;
}

export interface SignRequest {
  /** As which of the owners that the contract names. */
  as: 'business' | 'technical';
  /** Why the wider risk is wanted. */
  reason: string;
}

export interface SourceReport {
  answered: Answered;
  source: string;
}

export interface SourceState {
  /** The paths that differ from what the input brought; an empty one is the whole value. */
  changed: string[];
  /** What stands there now; for whoever may see the result. */
  now?: unknown;
  /** What the input brought; for whoever may see the result. */
  then?: unknown;
  /** It could not be read, or not be compared. */
  unread?: boolean;
}

export interface StartAnswer {
  /** How many waiting operations were let go. What is paused by itself stays so. */
  released: number;
}

export interface StartRequest {
  scope: 'tenant' | 'everything';
}

export interface StopRequest {
  /** Why, so that the next person knows when to resume. */
  reason: string;
  scope: 'tenant' | 'everything';
}

export interface Switch {
  at: string;
  by: string;
  /** auth: the provider refused the credential. effect_multiplied: an operation had two effects. Else a person's words. */
  reason: string;
  /** tenant: every tool of it. everything: every tool of every tenant. */
  scope: 'tool' | 'tenant' | 'everything';
  tool?: string;
}

export interface SwitchList {
  switches: Switch[];
}

export interface TeamReport {
  answered: Answered;
  /** Empty: the contract names no owner. */
  team: string;
  tools: string[];
  unknown: number;
}

export interface TimeReport {
  answered: Answered;
  from: string;
}

export interface Token {
  created_at: string;
  created_by: string;
  /** The effect classes that it may act on; absent: every class. */
  effects?: string[];
  expires_at: string;
  /** Teams that it acts for; * is every group. */
  groups?: string[];
  /** The part of the token between ow_ and the next underscore; no secret. */
  id: string;
  /** To the hour; absent: never. */
  last_used_at?: string;
  note?: string;
  revoked_at?: string;
  revoked_by?: string;
  roles: string[];
  /** Who the bearer is: token:<subject>. Tokens of one subject are one principal. */
  subject: string;
  tenant: string;
  /** What it may act on; absent: every tool. */
  tools?: string[];
}

export interface TokenAnswer {
  token: Token;
}

export interface TokenPage {
  /** To be given as after; absent on the last page. */
  next?: string;
  tokens: Token[];
}

export interface TokenRequest {
  /** Narrows it to these effect classes. */
  effects?: string[];
  /** Teams that it acts for, of those that whoever asks is in. */
  groups?: string[];
  /** How long it holds: 2160h (90 days) if absent, 8784h (366 days) at most. */
  lifetime?: string;
  /** What it is for. */
  note?: string;
  /** caller, approver, operator, auditor, admin: none that whoever asks has not got. */
  roles: string[];
  /** Who the bearer is to be. */
  subject: string;
  /** Narrows it to these tools. */
  tools?: string[];
}

export interface Tool {
  /** What the look-up cannot see, in words. */
  blind_spots?: string;
  business_owner?: string;
  /** Of one attempt. */
  deadline?: string;
  description?: string;
  /** What the provider offers against a second effect; docs/guarantees.md explains each. */
  effect: 'read' | 'compute' | 'keyed_write' | 'conditional_write' | 'probed_write' | 'unsafe_write';
  /** Who performs the write: onceward, or the caller (POST /v1/operations:claim). */
  executor: 'onceward' | 'caller';
  /** An unknown outcome can be looked up. */
  has_probe: boolean;
  /** A newer version that waits for its owners' yes; this one is in force. */
  held?: HeldVersion;
  /** The longest time in which a duplicate can still arrive. */
  horizon?: string;
  /** JSON Schema of the input. */
  input?: unknown;
  /** contract: derived from the input. caller: each request has to bring its key. */
  key_from: 'contract' | 'caller';
  /** A Go duration. */
  lease?: string;
  max_attempts: number;
  name: string;
  /** An intent older than this is not started any more. */
  not_after?: string;
  /** There while no attempt may start. */
  paused?: Pause;
  /** How long after an attempt its effect may still appear. */
  settle?: string;
  technical_owner?: string;
  version: string;
}

export interface ToolAnswer {
  tool: Tool;
}

export interface ToolList {
  tools: Tool[];
}

export interface ToolReport {
  answered: Answered;
  /** The contract may ask for an approval. */
  approval?: boolean;
  business_owner?: string;
  effect?: string;
  has_probe?: boolean;
  technical_owner?: string;
  /** Empty: requests for tools that have no contract. */
  tool: string;
  /** Operations whose outcome became unknown. */
  unknown: number;
  /** Of the contract in force. */
  version?: string;
}

export interface Waits {
  began: number;
  ended: number;
  /** A Go duration. */
  longest?: string;
  /** Of those that began and ended within the time. */
  median?: string;
  /** Of those that wait, since the last change. */
  oldest?: string;
  /** Now; 500 means 500 or more. */
  waiting: number;
}

export interface Yes {
  actor: string;
  at: string;
  /** It is void after it, if no attempt has spent it. */
  until: string;
}
