import EventLog
import Synchronization
import Time

/// Where pushes go: APNs, a webhook, a file. Everything a transport does to the world, it does here; what it learnt
/// comes back as answers, so that the stage stays pure.
///
/// A transport whose other side may be slow is better a ``ContinuousTransport``: of this one, the answers to a batch come
/// together, and the next batch waits for them.
public protocol Transport: Sendable {
    associatedtype Settings: PluginSettings

    /// The word a pipeline file names the transport by, after `use:`.
    static var kind: String { get }

    /// A device's token as this transport sends it, and tells it from others. By default what was registered.
    ///
    /// Pure, as a stage is: deliver asks for every registration, and asks again when it is fed its past.
    ///
    /// - Throws: Why no device can have such a one; the registration is then set aside.
    static func address(_ token: String) throws(Rejection) -> String

    /// Checks only; touches nothing outside.
    init(_ settings: Settings, context: TransportContext) throws(SettingsError)

    /// Opens files and connections.
    func open() async throws(TransportError)

    /// Sends pushes, in order, and returns one answer for each, in any order.
    ///
    /// Returns within seconds: a push that is not over by then is ``TransportAnswer/Outcome/deferred``, and handed in
    /// again later. Called again only after it returned.
    ///
    /// Before ``open()`` and after ``close()`` pushes are answered too. When its task is cancelled or the transport is
    /// closed meanwhile, it returns soon; pushes without a final answer may then be left out, and are handed out again.
    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer]

    /// How many pushes may be on their way now: the transport gets no more, and another when the answer to one of these is
    /// on record. So no more can go out a second time after a crash.
    ///
    /// Asked at any time, from any thread; below 1 counts as 1. By default there is no such limit: then it is about a
    /// megabyte of pushes.
    var inFlightMax: Int { get }

    /// Makes ready to go on with other settings, and changes nothing yet: pushes may be on their way.
    ///
    /// - Returns: What changes over; nil where that cannot be: the transport is then closed and made anew, unless its
    ///   settings are what they were.
    /// - Throws: Where it could not work with them; it goes on with those it has.
    func change(to settings: Settings) async throws(TransportError) -> TransportChange?

    /// Makes durable what was accepted and lets go of everything. May come without ``open()``, and more than once.
    func close() async
}

extension Transport {
    public static func address(_ token: String) throws(Rejection) -> String { token }
    public var inFlightMax: Int { .max }
    public func open() async throws(TransportError) {}
    public func change(to settings: Settings) async throws(TransportError) -> TransportChange? { nil }
    public func close() async {}
}

/// A transport that takes pushes while others are on their way, and gives each answer as it comes.
///
/// The simple case needs none of this: ``Transport/deliver(_:)`` is enough, and is never called while it works.
public protocol ContinuousTransport: Transport {
    /// Takes pushes, in order, and returns at once.
    ///
    /// Each push has its first answer within seconds. One that is not over by then is ``TransportAnswer/Outcome/deferred``
    /// and ``TransportAnswer/isUnderWay``; its last answer follows as soon as there is one, and is also the answer when the
    /// push is handed in again.
    ///
    /// - Parameter answered: Called with answers as they come, from any thread, and also after ``Transport/close()``.
    func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void)

    /// The room that pushes of an app have. Asked at any time, from any thread; by default all apps share
    /// ``Transport/inFlightMax``.
    func room(for app: Delivery.App?) -> TransportRoom
}

extension ContinuousTransport {
    public func room(for app: Delivery.App?) -> TransportRoom { TransportRoom(channel: 0, pushesMax: inFlightMax) }

    /// The first answer to each push; where the task is cancelled, those that there are.
    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        var (open, answers) = (Set(pushes.map(\.id)), [TransportAnswer]())
        guard !open.isEmpty else { return [] }
        let (answered, continuation) = AsyncStream.makeStream(of: [TransportAnswer].self)
        take(pushes) { continuation.yield($0) }
        for await some in answered {
            answers += some.filter { open.remove($0.id) != nil }
            if open.isEmpty { break }
        }
        return answers
    }
}

/// Where the pushes of an app go, and how many of them may be on their way now.
public struct TransportRoom: Sendable, Hashable {
    /// Apps of one channel share its room.
    public var channel: Int
    /// Below 1 counts as 1.
    public var pushesMax: Int
    /// How many of one device: those that are to be waited for longer count until their last answer. Below 1 counts as 1.
    public var pushesPerDevice: Int
    /// Whether the other side has not answered of late, so that pushes would only be put off: they wait for some seconds
    /// more, and keep their order where it answers again.
    public var isSilent: Bool

    /// A transport without channels of its own gives every app the same number.
    public init(channel: Int, pushesMax: Int, pushesPerDevice: Int = .max, isSilent: Bool = false) {
        (self.channel, self.pushesMax) = (channel, pushesMax)
        (self.pushesPerDevice, self.isSilent) = (pushesPerDevice, isSilent)
    }
}

/// How an open transport comes to other settings, and keeps what is under way.
public struct TransportChange: Sendable {
    /// What is other, for the operator; empty where nothing is.
    public var said: [String]
    /// Called once at most, and not while ``Transport/deliver(_:)`` works.
    public var apply: @Sendable () async -> Void

    /// Made by ``Transport/change(to:)``, which has checked the settings by then.
    public init(said: [String], apply: @escaping @Sendable () async -> Void) {
        (self.said, self.apply) = (said, apply)
    }
}

/// What a transport knows of where it runs.
public struct TransportContext: Sendable {
    /// The name that devices register with, such as `apns`.
    public var name: String
    /// Writes one line for a person who watches: standard output of the process, or what a test set. Throws where it is closed or full.
    public var console: @Sendable (String) throws -> Void
    /// Tells the operator, in one line, what only they can mend, and when it is over.
    public var tell: @Sendable (String) -> Void = { _ in }
    /// The folder of the stage's own log, for what a transport keeps across restarts; nil where nothing is to be kept.
    public var folder: String?
    /// The folder of the log that the pushes come from; nil where none is known. On another machine than the stage
    /// before, there is no log in it.
    public var inputLog: String?
    /// When the pipeline's logs reach the disk: what a transport accepts is to be as durable.
    public var sync: SyncPolicy
    /// Who may use the files and folders that a transport makes.
    package var mode = DataMode.owner
    /// What it shares with the other transports of its stage.
    public var sharedResources = SharedResources()

    /// For tests of a transport; a host makes its own.
    public init(
        name: String, folder: String? = nil, inputLog: String? = nil, sync: SyncPolicy = .always,
        console: @escaping @Sendable (String) throws -> Void
    ) {
        self.name = name
        self.folder = folder
        self.inputLog = inputLog
        self.sync = sync
        self.console = console
    }
}

/// What the transports of a stage have in common, such as the provider token of a key that two of them use. It lives as
/// long as the stage's process works, over changes of its settings.
public final class SharedResources: Sendable {
    private let things = Mutex<[ObjectIdentifier: any Sendable]>([:])

    /// Each stage's process has one.
    public init() {}

    /// The only thing of its type: who asks first makes it.
    public func shared<Thing: Sendable>(_ make: () -> Thing) -> Thing {
        things.withLock { things in
            if let thing = things[ObjectIdentifier(Thing.self)] as? Thing { return thing }
            let thing = make()
            things[ObjectIdentifier(Thing.self)] = thing
            return thing
        }
    }
}

/// A transport as a pipeline file sets it up: the name devices use, the plugin behind it and its settings.
public struct TransportBinding: Sendable {
    /// What devices register with.
    public var name: String
    /// The ``Transport/kind`` of the plugin.
    public var kind: String
    /// What stands beside `kind` in the pipeline file; the plugin reads it.
    public var settings: SettingsReader

    /// Made by a stage that reads transports from its settings.
    public init(name: String, kind: String, settings: SettingsReader) {
        self.name = name
        self.kind = kind
        self.settings = settings
    }
}

/// A transport that cannot work at all: what, where, and what to do.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator that names the file, host or setting.
    public var reason: String
    /// Whether it is the pipeline file that is wrong, or a file that it names: then another try would end the same way.
    public var isOfConfiguration: Bool
    /// The place in the pipeline file where the mistake is, where it is known.
    package var mistake: SettingsError?

    /// Of the surroundings, such as a folder that cannot be written to, unless it is said to be of the configuration.
    public init(_ reason: String, isOfConfiguration: Bool = false) {
        self.reason = reason
        self.isOfConfiguration = isOfConfiguration
    }

    package init(_ mistake: SettingsError) {
        self.init(mistake.description, isOfConfiguration: true)
        self.mistake = mistake
    }

    public var description: String { reason }
}

/// What became of one push at one device, in the transport's words.
public struct TransportAnswer: Sendable, Hashable {
    /// The words that stand in the outcomes log.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// The other side took it. Never "delivered": no one promises that.
        case accepted
        /// Given up for good; `reason` says why.
        case failed
        /// Not yet over: the push is to be handed out again at ``TransportAnswer/until``, under the same `apns-id`.
        ///
        /// A transport that is handed a push again which it still has under way joins the two: it sends nothing twice.
        case deferred
        /// The device's address is no longer one, since ``TransportAnswer/since``.
        case unregistered
        /// The other side does not know the address, or not for this app: the device's fault, or the configuration's.
        case unknownAddress = "unknown_address"
        /// The other side takes nothing from this app until somebody mends what ``TransportAnswer/reason`` names.
        case stopped
    }

    /// The delivery that is answered.
    public var id: Delivery.ID
    /// What the other side's answer means for the push.
    public var outcome: Outcome
    /// The other side's status, such as an HTTP status; nil where there is none.
    public var status: Int?
    /// The other side's reason, verbatim.
    public var reason: String?
    /// How often the push was sent since it was handed out; 0 where it never was.
    public var attempts: Int
    /// When a deferred push is to be handed out again.
    public var until: Instant?
    /// Since when the other side knows that the address is none.
    public var since: Instant?
    /// Whether the device may get the push twice: an earlier attempt had no answer.
    public var mayRepeat: Bool
    /// Whether the transport still has the ``Outcome/deferred`` push under way, and answers when it is handed in again.
    /// Where the transport is gone by then, the push may come twice.
    public var isUnderWay = false
    /// The other side's name for the push, if it gave one.
    public var receipt: String?
    /// When a stage took the answer, in one that it reads back from its log; nil in a transport's own.
    public var taken: Instant?

    /// What became of a push at its device, after one attempt unless said otherwise.
    public init(
        _ id: Delivery.ID, _ outcome: Outcome, status: Int? = nil, reason: String? = nil, attempts: Int = 1,
        until: Instant? = nil, since: Instant? = nil, mayRepeat: Bool = false, receipt: String? = nil,
        taken: Instant? = nil
    ) {
        self.id = id
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.attempts = attempts
        self.until = until
        self.since = since
        self.mayRepeat = mayRepeat
        self.receipt = receipt
        self.taken = taken
    }
}
