import JSON
import PipelineKit
import Time

/// How a stage gets to its state at the end of its log: from a snapshot, if ``SnapshotSearch`` found one, and then by a
/// rebuild from the logs.
extension ConsumerLoop {
    func begin(_ log: String, _ identity: LogIdentity, _ last: UInt64) throws {
        try UpstreamRecord(plan).checkOrRecord(log, identity, endpoint: inlet.endpoint, beside: outlet.log)
        guard clock == nil, rebuild == nil else { return }
        upstreamName = log
        let taken = start?.moment.position ?? 0
        var committed = max(taken, outlet.log.cursor.positions[log] ?? 0)
        let hasTransports = !S.transports(of: timeline.current).isEmpty
        var resumption = unfinished(log)
        if hasTransports, let step = resumption {
            // An earlier build appended the outcomes of a push to many devices in parts. It had handled the whole step
            // before it appended the first part. So no step is resumed: the stage only hands out the deliveries that
            // have no answer.
            if step.kind == .event { committed += 1 }
            resumption = nil
        }
        openCrashJournal()
        reportCrashes(through: committed + (resumption?.kind == .event ? 1 : 0))
        let needed = committed + (resumption?.kind == .event ? 1 : 0)
        guard needed <= last else {
            throw LinkError.upstreamLost(endpoint: inlet.endpoint, log: log, taken: needed, last: last)
        }
        try outlet.deadLetters.recover(upstream: log)
        let context = StageContext(
            log: outlet.log.identity, upstream: identity, upstreamName: log, registry: plan.registry)
        let periods = try timeline.periods(from: taken)
        let clock = StageClock(try start?.stage ?? S(periods.first, context: context), now: start?.moment.now ?? .epoch)
        (self.context, self.periods) = (context, periods)
        keeper = SnapshotKeeper(S.self, plan, context, outlet.log)
        inFlightJournal = try makeInFlightJournal(through: last)
        state.begin(taken: taken, committed: committed, resuming: resumption)
        if committed > 0 {
            let batches = try RecordedBatches(
                plan, upstream: log, after: start?.moment, answers: hasTransports ? RecordedAnswers(of: S.self) : nil,
                unfinished: resumption)
            rebuild = StageRebuild(
                clock, context, periods, through: committed, by: batches, lane: plan.linkLane)
        } else {
            self.clock = clock
            state.endPast()
            if resumption == nil { try switchToCurrentSettings(after: 0) }
        }
        start = nil
        keeper?.remove { [first = inlet.upstreamFirst] in $0.position + 1 < first }
    }

    private func makeInFlightJournal(through last: UInt64) throws -> InFlightJournal? {
        let sessions = transports.sessions
        guard !sessions.isEmpty else { return nil }
        let files = InFlightJournalFiles(logDirectory: plan.logDirectory, of: outlet.log.identity, calls: plan.calls)
        return try InFlightJournal(
            files, boot: plan.time.boot(), sessions: sessions, after: outlet.log.lastSequence, through: last,
            continuesAnotherHost: outlet.log.continuesAnotherHost
        ) { [plan] in try RecordedAnswers(of: S.self).read(from: plan.logDirectory, after: $0) }
    }

    /// The step that the log holds in part; nil if there is no such step, or if the snapshot already includes it.
    private func unfinished(_ upstream: String) -> UnfinishedStep? {
        let step = UnfinishedStep(outlet.log.cursor, of: upstream)
        return step.flatMap { $0.first > start?.moment.sequence ?? 0 ? $0 : nil }
    }

    /// Starts from an older snapshot; if the stage has no older snapshot, from the first event. Called when the
    /// upstream's log has lost its end: the snapshot of `start` includes an event that the log no longer has. If the
    /// cursor of the stage's own log is before this event too, also removes the snapshot of `start` and all newer ones.
    func fallBack(from start: RestoredStage<S>, because reason: String) throws {
        let position = start.moment.position
        StandardError.write("\(plan.stage): skipped a snapshot that includes event \(position): \(reason)")
        let cursor = outlet.log.cursor.input?.position ?? 0
        if cursor < position { try snapshots?.remove(after: position - 1) }
        self.start = try snapshots?.newest(through: position - 1)
        try inlet.open(after: self.start?.moment.position ?? 0)
    }

    // MARK: Rebuilding

    /// Feeds the stage an event of its recorded past. If the event comes after this past, returns false, and ends the
    /// rebuild if it has not ended yet.
    func feedRebuild(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws -> Bool {
        guard let through = state.pastEnd else { return false }
        guard sequence > through else {
            if notesEachEvent { crashJournal?.note(sequence...sequence) }
            try rebuild?.feed(line, sequence, at: now)
            if notesEachEvent { crashJournal?.clear() }
            return true
        }
        try endRebuild()
        return false
    }

    /// Commits before the first event after the rebuild; false if this event must wait, for example because the log or
    /// the transports have no room.
    func catchUp(before sequence: UInt64) throws -> Bool {
        guard !state.hasCaughtUp else { return true }
        state.noteTaken(through: sequence - 1)
        return try commit() && haveTransportsRoom
    }

    func finishRebuild() throws {
        if let through = state.pastEnd, state.taken >= through { try endRebuild() }
    }

    private func endRebuild() throws {
        try rebuild?.finish()
        guard let rebuilt = rebuild.take() else { return }
        (clock, periods) = rebuilt.ended()
        state.endPast()
        if state.resumption == nil { try switchToCurrentSettings(after: state.committed) } else { try resume() }
    }

    func adopt(_ settings: S.Settings) throws {
        out.discard()
        if let context { try clock?.adopt(settings, context: context) }
    }

    /// Finishes catching up: gives the stage the settings in the pipeline file, and hands out the stage's unanswered
    /// pushes again.
    func switchToCurrentSettings(after sequence: UInt64) throws {
        while let settings = periods?.next(beforeEvent: .max) { try adopt(settings) }
        if timeline.hasChanged { try adopt(timeline.current) }
        try timeline.record(after: sequence, now: outlet.log.lastNow)
        state.switchToCurrentSettings()
        if let clock { clock.stage.handOutAgain(at: clock.now, into: &out) }
        queuePushes()
    }
}
