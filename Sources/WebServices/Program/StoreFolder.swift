import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import RecordStore
import StageTool

/// The folder of a gateway's store, for commands that check, rebuild or copy the store.
package struct StoreFolder: Sendable {
    package let path: String
    /// The folder of the log from which the store is made.
    private let changes: String
    private let mode: DataMode

    package var store: String { "\(path)/\(Self.storeName)" }

    static let storeName = "store.sqlite"
    static let assetsName = "assets"

    /// When the batches of a transaction have this many bytes, the transaction gets no more batches.
    private static let transactionBytes = 4 << 20

    package init(_ settings: GatewaySettings, of file: PipelineFile) {
        (path, mode) = (settings.folder(of: file), file.dataMode)
        changes = "\(file.data)/logs/\(file.sourceStage.logName)"
    }

    /// The summary of the log from which the store is made; nil before ingest's first start.
    package func changesLog() throws(EventLogError) -> LogSummary? {
        try EventLogs.isLog(directory: changes) ? EventLogs.summary(directory: changes) : nil
    }

    /// Makes the store again from the changes log, up to the log's current end. The old store stays until the new store
    /// is complete.
    ///
    /// A log whose first events were removed still has every record that is not deleted, because retention keeps the
    /// events that these records need. It may lack subscriptions, devices, zones without records, and the creators of
    /// records. The new store refuses change tokens from before the log's first event.
    ///
    /// - Parameters:
    ///   - acceptsLoss: Whether to make the store from a log whose first events were removed.
    ///   - onBatch: Called after each batch that was read, with its number of bytes.
    /// - Throws: ``RecordStoreError/inUse(folder:process:)`` while a gateway uses this folder;
    ///   ``StoreFolderError/noLog(_:)`` if ingest has never been started;
    ///   ``StoreFolderError/trimmed(log:first:)`` if the log's first events were removed and `acceptsLoss` is false.
    ///   Also the errors of reading the log, of writing the store, and of `onBatch`.
    package func rebuild(acceptsLoss: Bool = false, _ onBatch: (UInt64) throws -> Void) throws -> StoreSummary {
        try DataFolder.prepare(path, mode)
        let lock = try StoreLock(folder: path)
        defer { withExtendedLifetime(lock) {} }
        guard let log = try changesLog() else { throw StoreFolderError.noLog(changes) }
        guard acceptsLoss || log.firstSequence == 1 else {
            throw StoreFolderError.trimmed(log: changes, first: log.firstSequence)
        }
        let part = "\(store).part"
        try StoreFiles.remove(part)
        let writer = RecordWriter(try RecordStore(path: part, log: log.identity))
        try apply(through: log.lastSequence, to: writer, onBatch)
        try writer.close()
        try StoreFiles.replace(store, by: part)
        return try StoreSummary(path: store)
    }

    private func apply(through last: UInt64, to writer: RecordWriter, _ onBatch: (UInt64) throws -> Void) throws {
        let reader = try EventLogReader(directory: changes, from: .beginning)
        var (batches, bytes): ([EventBatch], Int) = ([], 0)
        while let batch = try reader.next(through: last) {
            batches.append(
                EventBatch(firstSequence: batch.header.firstSequence, now: batch.header.now, lines: Array(batch.body)))
            bytes += batch.body.count
            if bytes >= Self.transactionBytes {
                _ = try writer.apply(batches)
                (batches, bytes) = ([], 0)
            }
            try onBatch(UInt64(batch.body.count))
        }
        _ = try writer.apply(batches)
    }

    /// Copies the store and its assets to a new folder, with which another gateway of the pipeline can start. The
    /// gateway whose store is copied may run meanwhile. The producer's secret is not copied, because each gateway is a
    /// producer of its own. The file of keys and the secret for tickets are not copied either.
    package func copy(to folder: String) throws -> StoreSummary {
        let target = "\(folder)/\(Self.storeName)"
        for path in [target, "\(folder)/\(Self.assetsName)"] where FileManager.default.fileExists(atPath: path) {
            throw StoreFolderError.exists(path)
        }
        try DataFolder.prepare(folder, mode)
        try RecordStore.copy(store, to: target)
        try AssetFolder(path: "\(path)/\(Self.assetsName)", mode: mode).copyFiles(to: "\(folder)/\(Self.assetsName)")
        return try StoreSummary(path: target)
    }
}

package enum StoreFolderError: Error, Hashable, CustomStringConvertible {
    /// There is no changes log.
    case noLog(String)
    /// The log begins with the event `first`. So it may lack subscriptions, devices and empty zones that were saved
    /// before this event.
    case trimmed(log: String, first: UInt64)
    /// The log no longer has the events that the store of a gateway needs next. `reason`: the message of ingest.
    case behind(folder: String, reason: String)
    /// The target of a copy has a store or assets.
    case exists(String)

    package var description: String {
        switch self {
        case .noLog(let folder):
            "\(folder): the store is made from this log, which does not exist yet; start the pipeline first"
        case .trimmed(let log, let first):
            "\(log) begins with event \(first), so a store made from it has all records, but lacks the subscriptions, "
                + "devices and empty zones that were saved earlier, and may name wrong creators of earlier records; "
                + "use the copy of another gateway's store (belfry store copy) or a backup, or accept the loss with "
                + "--accept-loss"
        case .behind(let folder, let reason):
            "the store in \(folder) is too old: \(reason); use the copy of another gateway's store (belfry store copy) or a "
                + "backup, or make the store again (belfry store rebuild)"
        case .exists(let path): "\(path) exists already; copy to a new folder"
        }
    }
}
