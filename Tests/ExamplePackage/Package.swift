// swift-tools-version: 6.2
import PackageDescription

// An example package whose tests run a whole Belfry pipeline. Outside this repository, use a URL instead of the path.
let package = Package(
    name: "notes",
    dependencies: [
        .package(name: "belfry", path: "../..")
    ],
    targets: [
        .testTarget(
            name: "NotesTests",
            dependencies: [
                .product(name: "PipelineTestKit", package: "belfry"),
                .product(name: "BelfryTestKit", package: "belfry"),
            ])
    ]
)
