import ArgumentParser
import EventLog
import Inspect
import JSON
import PipelineRuntime
import Time

struct LogRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Cuts a damaged log off where the damage begins.",
        discussion: """
            Says what would be lost and changes nothing, unless --yes is given. Then every file that changes is kept \
            as it was in a folder `damaged-...` below the log's. A log that a stage has open is refused. Exit status 0: \
            the log is whole, or was repaired; 1: it needs a repair, and --yes was not given. Text on a terminal; one \
            JSON object otherwise, or with --json.

            The log then ends before the damage: events behind it go too, since sequences have no gaps. Stages that \
            have read on from there hold what came of lost events; they are named.

              belfry log repair changes -p Pipelines/quickstart.yaml
              belfry log repair out/changes --yes
            """)

    @Argument(help: "A log's folder, or its name below a place.", completion: .directory)
    var log: String

    @Option(
        name: .shortAndLong, help: "The place that LOG is a name in: a pipeline file or a folder.", completion: .file())
    var pipeline: String?

    @Flag(help: "Do it.")
    var yes = false

    @Option(help: "The time that names the copy (RFC 3339); now where it is not given.")
    var now: Instant?

    @OptionGroup var output: JSONOption

    func run() throws {
        let directory = try LogPlace.folder(ofLog: log, pipeline: pipeline)
        var progress = ReadingProgress(total: try LogPlace.bytes(of: directory))
        let repair = try LogRepairCommand.look(at: directory) { progress.add($0) }
        progress.end()
        let copy = yes ? try repair.apply(at: now ?? .wall()) : nil
        try output.print(RepairText.lines(repair.plan, copy), json: [RepairText.json(repair.plan, copy)])
        if !repair.plan.isSound, copy == nil { throw ToolFailure(.no) }
    }

    /// Where no cut helps, what the error says of other commands must not lead back here.
    private static func look(at directory: String, _ progress: (UInt64) -> Void) throws -> LogRepair {
        do throws(EventLogError) { return try LogRepair(directory: directory, progress: progress) } catch {
            guard case .damaged(let file, _, _, let reason) = error else { throw error }
            let copy = reason.contains("from a copy") ? "" : "; restore the log's folder from a copy"
            throw ToolFailure(.badData, "\(file): \(reason)\(copy); no cut puts it right, and nothing was changed")
        }
    }
}

extension Instant: ExpressibleByArgument {
    public init?(argument: String) { self.init(rfc3339: argument) }
}

/// What a repair costs, for people and for programs.
enum RepairText {
    static func lines(_ plan: RepairPlan, _ copy: String?) -> [String] {
        if plan.isSound { return ["\(plan.name): sound, nothing to repair"] }
        let problem = (plan.damage ?? plan.tornTail).map {
            "\(plan.name): \(plan.damage == nil ? "a torn tail" : "damaged") at byte \($0.offset) of \($0.file), from sequence \($0.sequence) on: \($0.reason)"
        }
        let manifest = plan.manifest.map {
            "\(plan.name): \($0); what it must say was found beside it or in the other logs"
        }
        let missing = plan.missing.map {
            "\(plan.name): sequences \($0.lowerBound) to \($0.upperBound) are missing, and no retention removed them; "
                + "a copy may have them, or the log begins behind them from now on"
        }
        return [problem, manifest, missing, lostEnd(plan)].compactMap(\.self) + loss(plan, isDone: copy != nil) + [
            verdict(plan, copy)
        ]
    }

    /// Where nothing is cut, so that only what lies beside the log shows that something is lost.
    private static func lostEnd(_ plan: RepairPlan) -> String? {
        guard plan.cuts.isEmpty, let known = plan.knownThrough else { return nil }
        return
            "\(plan.name): sequences \(plan.keptThrough + 1) to \(known) are lost, as \(plan.derived.joined(separator: ", ")) "
            + "shows; a copy may have them, or the log goes on without them, and that goes"
    }

    private static func loss(_ plan: RepairPlan, isDone: Bool) -> [String] {
        guard !plan.cuts.isEmpty else { return [] }
        let range = plan.lostThrough.map { "sequences \(plan.keptThrough + 1) to \($0)" } ?? "no event that can be seen"
        let start = isDone ? "lost" : "would be lost"
        let files = plan.cuts.map { cut in
            "  \(cut.file): \(cut.bytesKept.map { "from byte \($0) on" } ?? "whole"), \(byteText(cut.bytesLost))"
        }
        let derived = plan.derived.map { "  \($0): made from what \(isDone ? "is" : "would be") lost" }
        let consumers = plan.consumersBeyond.map {
            "\($0.name) has done its sequence \($0.done): it holds what came of lost events; look at it, and start it anew or restore both from a copy"
        }
        let settings = plan.settingsLost > 0 ? ["  \(plan.settingsLost.of("change")) of the stage's settings"] : []
        return [
            "\(start): \(range), \(plan.eventsLost.of("event")) that can still be read, \(byteText(plan.bytesLost))"
        ]
            + files + settings + derived + consumers
    }

    private static func verdict(_ plan: RepairPlan, _ copy: String?) -> String {
        guard let copy else { return "nothing was changed; --yes does it, and keeps a copy of every file it changes" }
        return "\(plan.name) now ends with sequence \(plan.keptThrough); what was there is in \(copy)"
    }

    static func json(_ plan: RepairPlan, _ copy: String?) -> String {
        ByteBuffer.object {
            $0.append("name", plan.name)
            $0.append("sound", plan.isSound)
            $0.append("repaired", copy != nil)
            $0.append("keptThrough", plan.keptThrough)
            $0.append("lostThrough", plan.lostThrough)
            $0.append("knownThrough", plan.knownThrough)
            $0.append("eventsLost", plan.eventsLost)
            $0.append("bytesLost", plan.bytesLost)
            $0.append("damage", raw: plan.damage.map(VerifyText.json))
            $0.append("tornTail", raw: plan.tornTail.map(VerifyText.json))
            $0.append("manifest", plan.manifest)
            if plan.settingsLost > 0 { $0.append("settingsLost", UInt64(plan.settingsLost)) }
            $0.append("missingThrough", plan.missing?.upperBound)
            $0.append("files", plan.cuts.map(\.file) + plan.derived)
            $0.append("consumersBeyond", plan.consumersBeyond.map(\.name))
            $0.append("copy", copy)
        }.text
    }
}
