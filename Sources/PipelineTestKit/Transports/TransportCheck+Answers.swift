import PipelineKit

extension TransportCheck {
    func checkAnswers() async throws {
        try await withOpen { transport in
            for (count, first) in [(1, UInt64(1_000)), (300, 1_001), (20, 1_301)] {
                let batch = samples.batch(count, from: first)
                let answers = try await settle(batch, through: transport)
                try checkAccepted(answers)
                try await checkArrived(batch, answers)
            }
        }
    }

    func checkUnreadable() async throws {
        try await withOpen { transport in
            var batch = samples.batch(30, from: 2_000)
            let texts = ["no JSON", "{}", "[]", "{\"headers\":{\"apns-id\":7}}", ""]
            for (index, text) in texts.enumerated() {
                batch.insert(samples.unreadable(UInt64(2_100 + index), text), at: index * 5)
            }
            let answers = try await settle(batch, through: transport)
            try checkAccepted(answers.filter { $0.id.push < 2_100 })
            guard peer.transportReadsPushes else { return }
            for answer in answers where answer.id.push >= 2_100 && answer.outcome != .failed {
                throw RuleViolation(
                    "the answer to '\(texts[Int(answer.id.push) - 2_100])' is \(answer.outcome.rawValue), not failed")
            }
        }
    }

    func checkEmptyBatch() async throws {
        try await withOpen { transport in
            let answers = try await within(min(limit, .seconds(1)), "deliver") { await transport.deliver([]) }
            guard answers.isEmpty else { throw RuleViolation("\(answers.count) answers to an empty batch") }
        }
    }

    // MARK: Checking answers

    func check(_ answers: [TransportAnswer], to batch: [Delivery], mayBeIncomplete: Bool = false) throws {
        let asked = Set(batch.map(\.id))
        var answered: Set<Delivery.ID> = []
        for answer in answers {
            guard asked.contains(answer.id) else {
                throw RuleViolation("\(answer.id.words) has an answer but was not in the batch")
            }
            guard answered.insert(answer.id).inserted else { throw RuleViolation("\(answer.id.words) has two answers") }
        }
        if !mayBeIncomplete, let missing = asked.subtracting(answered).first {
            throw RuleViolation("\(missing.words) has no answer")
        }
    }

    /// Delivers pushes until each has its final answer.
    func settle(_ batch: [Delivery], through transport: any Transport) async throws -> [TransportAnswer] {
        let end = ContinuousClock.now + limit
        var (open, settled) = (batch, [TransportAnswer]())
        while !open.isEmpty {
            guard ContinuousClock.now < end else { throw RuleViolation("\(open[0].id.words) stays deferred") }
            let answers = try await answers(of: transport, to: open)
            try check(answers, to: open)
            settled += answers.filter { $0.outcome != .deferred }
            let deferred = Set(answers.filter { $0.outcome == .deferred }.map(\.id))
            open = open.filter { deferred.contains($0.id) }
            if !open.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        }
        return settled
    }

    func checkAccepted(_ answers: [TransportAnswer]) throws {
        guard let answer = answers.first(where: { $0.outcome != .accepted }) else { return }
        throw RuleViolation(
            "the answer to \(answer.id.words) is \(answer.outcome.rawValue): \(answer.reason ?? "no reason")")
    }

    /// Checks that each accepted push arrived. It may have arrived more than once only if its answer tells of several
    /// attempts or of a possible repetition. Also checks that the pushes of each device arrived in order.
    func checkArrived(_ batch: [Delivery], _ answers: [TransportAnswer]) async throws {
        let arrivals = try await peer.arrivals()
        var counts: [String: Int] = [:]
        for id in arrivals { counts[id, default: 0] += 1 }
        for answer in answers where answer.outcome == .accepted {
            let count = counts[samples.apnsID(answer.id.push), default: 0]
            guard count > 0 else {
                throw RuleViolation("\(answer.id.words) was accepted but did not arrive with its apns-id")
            }
            guard count == 1 || answer.attempts > 1 || answer.mayRepeat else {
                throw RuleViolation("\(answer.id.words) arrived \(count) times, but its answer does not say so")
            }
        }
        try checkOrder(batch, arrivals)
    }

    private func checkOrder(_ batch: [Delivery], _ arrivals: [String]) throws {
        var places: [String: Int] = [:]
        for (place, id) in arrivals.enumerated() where places[id] == nil { places[id] = place }
        var last: [UInt64: (place: Int, id: Delivery.ID)] = [:]
        for push in batch {
            guard let place = places[samples.apnsID(push.id.push)] else { continue }
            let device = samples.deviceNumber(push.id.push)
            if let before = last[device], before.place > place {
                throw RuleViolation("\(push.id.words) arrived before \(before.id.words)")
            }
            last[device] = (place, push.id)
        }
    }
}

extension Delivery.ID {
    fileprivate var words: String { "push \(push) at \(device)" }
}
