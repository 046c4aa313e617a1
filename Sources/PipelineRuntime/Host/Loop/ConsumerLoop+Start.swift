import JSON
import PipelineKit
import Time

/// How a stage comes to where its log ends: from a snapshot, if ``SnapshotSearch`` found one, and by being fed its past.
extension ConsumerLoop {
    func begin(_ log: String, _ identity: LogIdentity, _ last: UInt64) throws {
        try UpstreamRecord(plan).check(log, identity, endpoint: inlet.endpoint)
        guard clock == nil, rebuild == nil else { return }
        upstreamName = log
        let taken = start?.moment.position ?? 0
        var committed = max(taken, outlet.log.cursor.positions[log] ?? 0)
        let hasTransports = !S.transports(of: past.today).isEmpty
        var resumption = unfinished(log)
        if hasTransports, let step = resumption {
            // Of a push to many devices some are on record: the others are out.
            if step.kind == .event { committed += 1 }
            resumption = nil
        }
        openJournal()
        complainOfCrashes(through: committed + (resumption?.kind == .event ? 1 : 0))
        let needed = committed + (resumption?.kind == .event ? 1 : 0)
        guard needed <= last else {
            throw LinkError.upstreamLost(endpoint: inlet.endpoint, log: log, taken: needed, holds: last)
        }
        try outlet.recoverDeadLetters(upstream: log)
        let context = StageContext(
            log: outlet.log.identity, upstream: identity, upstreamName: log, registry: plan.registry)
        let epochs = try past.epochs(from: taken)
        let clock = StageClock(try start?.stage ?? S(epochs.first, context: context), now: start?.moment.now ?? .epoch)
        (self.context, self.epochs) = (context, epochs)
        keeper = SnapshotKeeper(S.self, plan, outlet.log, upstream: (log, identity))
        inFlightJournal = try makeInFlightJournal(through: last)
        state.begin(taken: taken, committed: committed, resuming: resumption)
        if committed > 0 {
            let batches = try RecordedBatches(
                plan, upstream: log, after: start?.moment, answers: hasTransports ? RecordedAnswers(of: S.self) : nil,
                unfinished: resumption)
            rebuild = StageRebuild(clock, context, epochs, through: committed, by: batches)
        } else {
            self.clock = clock
            state.endPast()
            if resumption == nil { try goOnUnderTodaysSettings(after: 0) }
        }
        start = nil
        keeper?.remove { [first = inlet.upstreamFirst] in $0.position + 1 < first }
    }

    private func makeInFlightJournal(through last: UInt64) throws -> InFlightJournal? {
        let lives = transports.lives
        guard !lives.isEmpty else { return nil }
        let files = InFlightJournalFiles(logDirectory: plan.logDirectory, of: outlet.log.identity, calls: plan.calls)
        return try InFlightJournal(
            files, boot: plan.time.boot(), lives: lives, after: outlet.log.lastSequence, through: last
        ) { [plan] in try RecordedAnswers(of: S.self).read(from: plan.logDirectory, after: $0) }
    }

    /// What the log holds a part of; nil where the snapshot was taken when that was whole.
    private func unfinished(_ upstream: String) -> UnfinishedStep? {
        let step = UnfinishedStep(outlet.log.cursor, of: upstream)
        return step.flatMap { $0.first > start?.moment.sequence ?? 0 ? $0 : nil }
    }

    /// The upstream has lost events that the snapshot includes, and that our log may know nothing of: then nothing is
    /// lost that was told of, and an older state serves.
    func fallBack(from start: RestoredStage<S>, because reason: String) throws {
        let position = start.moment.position
        StandardError.write("\(plan.stage): snapshot passed over: it includes event \(position), and \(reason)")
        let cursor = outlet.log.cursor.input?.position ?? 0
        if cursor < position { try snapshots?.remove(after: position - 1) }
        self.start = try snapshots?.newest(through: position - 1)
        try inlet.open(after: self.start?.moment.position ?? 0)
    }

    // MARK: Feeding the past

    /// Feeds the stage an event of its past.
    ///
    /// - Returns: False where the past is over before the event.
    func recall(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws -> Bool {
        guard let through = state.pastEnd else { return false }
        guard sequence > through else {
            if isCareful { journal?.note(sequence...sequence) }
            try rebuild?.feed(line, sequence, at: now)
            if isCareful { journal?.clear() }
            return true
        }
        try endRebuild()
        return false
    }

    /// Comes to where an event may be fed that is none of the past.
    ///
    /// - Returns: False where something before it has to wait.
    func catchUp(before sequence: UInt64) throws -> Bool {
        guard !state.hasCaughtUp else { return true }
        state.take(through: sequence - 1)
        return try commit() && haveTransportsRoom
    }

    /// The history is over when all that the log has answered has been fed again.
    func finishRebuild() throws {
        if let through = state.pastEnd, state.taken >= through { try endRebuild() }
    }

    private func endRebuild() throws {
        try rebuild?.finish()
        guard let rebuilt = rebuild.take() else { return }
        (clock, epochs) = rebuilt.ended()
        state.endPast()
        if state.resumption == nil { try goOnUnderTodaysSettings(after: state.committed) } else { try resume() }
    }

    func adopt(_ settings: S.Settings) throws {
        out.discard()
        if let context { try clock?.adopt(settings, context: context) }
    }

    /// The past is as it was; from here on the pipeline file's settings count.
    func goOnUnderTodaysSettings(after sequence: UInt64) throws {
        while let settings = epochs?.next(beforeEvent: .max) { try adopt(settings) }
        if past.hasChanged { try adopt(past.today) }
        try past.record(after: sequence, now: outlet.log.lastNow)
        state.goOnUnderTodaysSettings()
        if let clock { clock.stage.handOutAgain(at: clock.now, into: &out) }
        handOut()
    }
}
