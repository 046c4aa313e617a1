import ArgumentParser
import Inspect
import PipelineKit
import RecordStore
import WebServices

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Rebuilds and copies the record store of the gateway for CloudKit Web Services.",
        discussion: """
            The store is an SQLite file that the gateway makes from ingest's log. The log contains everything that the \
            store contains, until retention removes the log's first events.

              belfry store rebuild Pipelines/quickstart.yaml       make it again from the log
              belfry store copy Pipelines/quickstart.yaml /srv/b   a store for another gateway
              belfry doctor Pipelines/quickstart.yaml --only store its size, its position and its indexes
            """,
        subcommands: [StoreRebuildCommand.self, StoreCopyCommand.self])
}

struct StoreRebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Makes the gateway's store again from ingest's log.",
        discussion: """
            The gateway must not run: stop it, or stop `belfry up` if that started it. Ingest may run. The old store stays \
            until the new one is whole, so an interrupted rebuild changes nothing. Change tokens of clients stay valid, \
            unless they are older than the log's first event. Indexes are made again when queries need them.

            After retention has removed the log's first events, the log still has every record, but it may lack \
            subscriptions, devices, empty zones, and who created a record. Then nothing is rebuilt without --accept-loss.

              belfry store rebuild Pipelines/quickstart.yaml
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Flag(help: "Rebuild from a log whose first events were removed.")
    var acceptLoss = false

    @OptionGroup var output: JSONOption

    func run() throws {
        let folder = try StoreFolder(pipeline: pipeline)
        var progress = ReadingProgress(total: try folder.changesLog()?.bytes ?? 0)
        let summary = try folder.rebuild(acceptsLoss: acceptLoss) { progress.add($0) }
        progress.end()
        try output.print(summary, after: "rebuilt")
    }
}

struct StoreCopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the gateway's store and assets to a new folder.",
        discussion: """
            Another gateway of the same pipeline starts with the copy: in the pipeline file on its machine, set \
            `store:` to the new folder. It then reads only the events after the copy. The gateway whose store is \
            copied may run meanwhile. Its secrets are not copied, because the other gateway makes its own. The key \
            file is not copied either: copy it yourself, or share it.

              belfry store copy Pipelines/quickstart.yaml /srv/belfry/api2
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Argument(help: "The new folder. If it exists, it must not contain a store or assets.", completion: .directory)
    var folder: String

    @OptionGroup var output: JSONOption

    func run() throws {
        let source = try StoreFolder(pipeline: pipeline)
        try output.print(source.copy(to: folder), after: "copied to")
    }
}

extension StoreFolder {
    /// - Throws: ``ToolFailure`` with status 66 if the file cannot be read, and with 78 if it has no gateway;
    ///   `PipelineFileError` if the file has mistakes.
    init(pipeline: String) throws {
        try PipelineArgument.check(pipeline)
        let checked = try CheckedPipeline(path: pipeline)
        guard let gateway = try checked.gateway else {
            throw ToolFailure(.configuration, "\(pipeline) has no gateway: there is no `api` beside `stages`")
        }
        self.init(gateway, of: checked.file)
    }
}

extension JSONOption {
    /// - Parameter verb: The words before the path of the store, such as `rebuilt`. JSON does not contain them.
    fileprivate func print(_ summary: StoreSummary, after verb: String) throws {
        try StandardOutput.write(line: isJSON ? summary.json : "\(verb) \(summary.text)")
    }
}
