import Glibc
import PipelineKit
import Synchronization
import Testing

@testable import PipelineTestKit

@Suite(.timeLimit(.minutes(5)))
struct TransportCheckTests {
    private func problems(_ fault: Fault?, calls: Int = 1) async throws -> [String] {
        let pager = Pager()
        let app = Delivery.App(container: "c", environment: "development", topic: "t")
        let check = TransportCheck(
            peer: TransportPeer(arrivals: { pager.arrivals }, pause: { pager.pause() }, resume: { pager.resume() }),
            samples: SamplePushes(app: app, transport: "pager"), limit: fault == nil ? .seconds(20) : .milliseconds(400)
        ) { PagerTransport(pager, fault) }
        var problems: [String] = []
        for _ in 0..<calls { problems += await check.problems() }
        pager.endTest()
        return problems
    }

    @Test func `a transport that keeps the rules has no problems`() async throws {
        #expect(try await problems(nil) == [])
    }

    @Test func `a check may be repeated`() async throws {
        #expect(try await problems(nil, calls: 2) == [])
    }

    @Test(arguments: Fault.allCases)
    func `a broken rule of a transport is reported`(fault: Fault) async throws {
        let problems = try await problems(fault)
        #expect(problems.contains { $0.contains(fault.rawValue) }, "\(problems)")
    }
}

/// A fault of a ``PagerTransport``, with words that the check's report must contain.
enum Fault: String, CaseIterable, Sendable {
    case forgetsAnswer = "has no answer"
    case answersTwice = "has two answers"
    case answersForOthers = "has an answer but was not in the batch"
    case losesPushes = "was accepted but did not arrive with its apns-id"
    case sendsTwice = "arrived 2 times, but its answer does not say so"
    case reversesOrder = " arrived before "
    case refuses = " is failed: no reason"
    case acceptsAnything = "'no JSON' is accepted, not failed"
    case hangsOnEmptyBatch = "deliver returns at once for an empty batch: deliver has not returned"
    case answersEmptyBatch = "answers to an empty batch"
    case hangsUnopened = "deliver answers before open: deliver has not returned"
    case hangsClosed = "deliver answers after it: deliver has not returned"
    case hangsClosing = "close may be called without open: close has not returned"
    case hangsCancelled = "a deliver that is cancelled at once ends soon: deliver has not returned"
    case hangsInFlight = "a deliver that is cancelled in flight ends soon: deliver has not returned"
    case hangsWhenClosed = "close ends deliveries in flight: deliver has not returned"
    case defersForEver = "stays deferred"
    case sendsDeferredAnew = "arrives twice only if its answer says that it may: push 8000 at device0 arrived "
    case keepsFiles = "more open files"
    case staysInMemory = "a closed transport is still in memory"
}

/// The server: the pushes that arrived, and whether it is paused.
private final class Pager: Sendable {
    private struct State {
        var arrivals: [String] = []
        var isPaused = false
        var stalled: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
        var kept: [AnyObject & Sendable] = []
        var files: [CInt] = []
    }

    private let state = Mutex(State())

    var arrivals: [String] { state.withLock { $0.arrivals } }
    var isPaused: Bool { state.withLock { $0.isPaused } }
    func pause() { state.withLock { $0.isPaused = true } }
    func resume() { state.withLock { $0.isPaused = false } }
    func page(_ id: String) { state.withLock { $0.arrivals.append(id) } }
    func keep(_ object: AnyObject & Sendable) { state.withLock { $0.kept.append(object) } }
    /// Opens eight files, so that the number of open files grows even if parallel tests close some files.
    func keepFiles() { state.withLock { state in for _ in 0..<8 { state.files.append(dup(0)) } } }

    /// Returns when the test ends.
    func stall() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.stalled.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    func endTest() {
        let (stalled, files) = state.withLock { state in
            state.hasEnded = true
            state.kept = []
            return (state.stalled, state.files)
        }
        for continuation in stalled { continuation.resume() }
        for file in files { close(file) }
    }
}

/// Sends pushes to a ``Pager``, and has at most one fault.
private final class PagerTransport: Transport {
    typealias Settings = NoSettings
    static let kind = "pager"

    private let pager: Pager
    private let fault: Fault?
    /// `deferred` has the IDs of pushes that arrived but were answered with `deferred`.
    private let state = Mutex((isOpen: false, wasOpen: false, deferred: Set<String>()))

    init(_ settings: NoSettings, context: TransportContext) { (pager, fault) = (Pager(), nil) }

    init(_ pager: Pager, _ fault: Fault?) { (self.pager, self.fault) = (pager, fault) }

    private var isOpen: Bool { state.withLock { $0.isOpen } }

    func open() async {
        state.withLock { ($0.isOpen, $0.wasOpen) = (true, true) }
        if fault == .keepsFiles { pager.keepFiles() }
        if fault == .staysInMemory { pager.keep(self) }
    }

    func close() async {
        if fault == .hangsClosing, !state.withLock({ $0.wasOpen }) { await pager.stall() }
        state.withLock { $0.isOpen = false }
    }

    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        await hang(pushes)
        guard isOpen else { return pushes.map { TransportAnswer($0.id, .failed, attempts: 0) } }
        var answers: [TransportAnswer] = []
        for push in fault == .reversesOrder ? pushes.reversed() : pushes {
            if let answer = await page(push) { answers.append(answer) }
        }
        switch fault {
        case .forgetsAnswer: return answers.dropLast()
        case .answersTwice: return answers + answers.prefix(1)
        case .answersForOthers: return answers + [TransportAnswer(.init(push: 1, device: "x"), .accepted)]
        case .answersEmptyBatch:
            return answers.isEmpty ? [TransportAnswer(.init(push: 1, device: "x"), .failed)] : answers
        default: return answers
        }
    }

    private func hang(_ pushes: [Delivery]) async {
        let (isOpen, wasOpen, _) = state.withLock { $0 }
        switch fault {
        case .hangsOnEmptyBatch where pushes.isEmpty, .hangsUnopened where !wasOpen,
            .hangsClosed where !isOpen && wasOpen:
            await pager.stall()
        default: return
        }
    }

    /// Sends a push to the pager, and returns the answer. Returns nil if the task is cancelled while the pager is
    /// paused.
    private func page(_ push: Delivery) async -> TransportAnswer? {
        let line = String(decoding: push.line, as: UTF8.self)
        guard let id = line.firstMatch(of: /"apns-id":"([^"]*)"/).map({ String($0.1) }) else {
            return TransportAnswer(push.id, fault == .acceptsAnything ? .accepted : .failed)
        }
        if pager.isPaused { return await pageWhilePaused(push, id) }
        if fault == .refuses { return TransportAnswer(push.id, .failed) }
        if fault == .defersForEver { return TransportAnswer(push.id, .deferred) }
        if fault != .losesPushes, state.withLock({ $0.deferred.remove(id) }) == nil { pager.page(id) }
        if fault == .sendsTwice { pager.page(id) }
        return TransportAnswer(push.id, .accepted)
    }

    /// Answers a push with `deferred` while the server is paused. The push arrives at the server only the first time.
    /// Returns nil if the task is cancelled.
    private func pageWhilePaused(_ push: Delivery, _ id: String) async -> TransportAnswer? {
        if state.withLock({ $0.deferred.insert(id).inserted }) { pager.page(id) }
        if fault == .sendsDeferredAnew { state.withLock { $0.deferred = [] } }
        if fault == .hangsCancelled || fault == .hangsInFlight || fault == .hangsWhenClosed { await pager.stall() }
        return Task.isCancelled ? nil : TransportAnswer(push.id, .deferred)
    }
}
